"""Collecting success visuals: trials through the engine, frames of the successes, their embeddings.

The folder of the visuals holds the run (`run/`), one file for every success that has been encoded (`parts/`), and in
the end the visuals themselves. A set of tasks has a run and parts of its own (`sets/NAME/`) in the same folder.
Whatever stops the work, the next call runs only what is missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from proctor.config.models import EvalConfig, RecordCfg
from proctor.errors import InputError
from proctor.foreign import read_json, read_npz
from proctor.images import resize
from proctor.record.rundir import RunDir, file_name
from proctor.runs.resume import resume
from proctor.runs.session import Hooks, RunEnd
from proctor.runs.start import start
from proctor.suites.goals.config import AloneCfg, GoalsCfg
from proctor.suites.goals.frames import Player, chosen_frames, window_frames
from proctor.suites.goals.instructions import Instruction, instructions_for
from proctor.suites.goals.metrics.embeddings import Embeddings
from proctor.suites.goals.models import Surroundings, encoder_hash, make_goal_model, runtime_of
from proctor.suites.goals.protocol import GoalModel, goals_of, pictures_of
from proctor.suites.goals.visuals import (
    INDEX,
    STATE,
    TaskVisuals,
    Visuals,
    empty_task,
    read_visuals,
    write_index,
    write_visuals,
)
from proctor_host.npz import write_npz
from proctor_host.result import TrialResult

FREE = ("n_trials", "num_parallel", "workers", "output_root", "limits", "name", "record", "scoring")
"""What may change between two calls on one folder."""


@dataclass(frozen=True)
class Collected:
    """What came of collecting. `visuals` is None where the run was stopped before its end; it holds what the folder has
    of other tasks, too. `tasks`: those that were asked for."""

    folder: Path
    finished: RunEnd
    visuals: Visuals | None
    tasks: tuple[str, ...] = ()


def task_instructions(cfg: EvalConfig, goals: GoalsCfg) -> dict[str, Instruction]:
    """What each task asks for: the config's words, else the suite's."""
    from proctor.suites import briefing

    told = {task.name: (lambda task=task: briefing(task.suite, task.options)) for task in cfg.tasks}
    return instructions_for(told, goals.instructions, "goals.instructions")


def collect(cfg: EvalConfig | AloneCfg, goals: GoalsCfg, hooks: Hooks = Hooks()) -> Collected:  # noqa: B008 - frozen
    """Run the trials that are missing, encode the successes that are not encoded, and write the visuals. Tasks of the
    folder that are not of this config, or of the chosen set, stay as they are."""
    if isinstance(cfg, AloneCfg):
        raise InputError(
            "collecting runs trials, and the config has neither agents nor tasks; add them, or read what another "
            "system collected with `proctor goals import`"
        )
    instructions = task_instructions(cfg, goals)
    model = make_goal_model(goals.model, Surroundings(instructions))
    encoder = describe(goals, model)
    folder = Path(goals.visuals_folder).resolve()
    _claim(folder, {"space": model.space, "encoder": encoder["hash"], "select": goals.select.model_dump(mode="json")})
    place = folder if goals.task_set is None else folder / "sets" / file_name(goals.task_set)
    finished = _run(place, cfg, hooks)
    if not finished.complete:
        return Collected(folder, finished, None)
    parts = _Parts(place, finished.run, model, goals)
    try:
        tasks = {task: _task(cfg, parts, task, words) for task, words in instructions.items()}
    finally:
        parts.close()
    before = read_visuals(folder).tasks if (folder / INDEX).is_file() else {}
    visuals = Visuals(model.space, {**before, **tasks}, encoder, goals.select.model_dump(mode="json"))
    write_visuals(folder, visuals)
    return Collected(folder, finished, visuals, tuple(tasks))


def describe(goals: GoalsCfg, model: GoalModel) -> dict[str, Any]:
    """What the visuals say of their encoder."""
    return {
        "target": goals.model.target,
        "kwargs": goals.model.kwargs,
        "hash": encoder_hash(goals.model, model, None),
        "window": model.window,
        "frame_size": list(model.frame_size),
        "runtime": runtime_of(goals.model),
    }


def _claim(folder: Path, wanted: Mapping[str, Any]) -> None:
    """Note whose folder this is. Raises InputError where it is another encoder's, or pictures were chosen otherwise."""
    path = folder / STATE
    if not path.is_file():
        if (folder / INDEX).exists():
            raise InputError(
                f"{folder} holds success visuals that were not collected here (imported ones); name another "
                "goals.visuals_folder"
            )
        folder.mkdir(parents=True, exist_ok=True)
        write_index(path, wanted)
        return
    try:
        known = dict(read_json(path))
    except (OSError, ValueError, TypeError) as error:
        raise InputError(f"{path} cannot be read: {error}; remove {folder} to collect again") from None
    differing = [key for key in wanted if known.get(key) != wanted[key]]
    if differing:
        told = "; ".join(f"{key}: {known.get(key)} there, {wanted[key]} here" for key in differing)
        raise InputError(
            f"{folder} holds success visuals that were made otherwise ({told}); name another goals.visuals_folder, or "
            "remove this one"
        )


def _run(folder: Path, cfg: EvalConfig, hooks: Hooks) -> RunEnd:
    """The trials: a new run, or the rest of the one that is there."""
    root = folder / "run"
    known = sorted(path.parent for path in root.glob("*/ledger.sqlite"))
    cfg = cfg.model_copy(update={"output_root": str(root), "record": RecordCfg(level="series")})
    if not known:
        return start(cfg, hooks)
    before, after = (c.model_dump(mode="json", exclude=set(FREE)) for c in (RunDir.open(known[-1]).plain_config(), cfg))
    differing = sorted(key for key in before if before[key] != after[key])
    if differing:
        raise InputError(
            f"{', '.join(differing)} changed since {folder} was begun; name another goals.visuals_folder, or remove it"
        )
    return resume(known[-1], [f"n_trials={cfg.n_trials}"], hooks, trust=True)


class _Parts:
    """Encoded successes, one file each."""

    def __init__(self, folder: Path, run: RunDir, model: GoalModel, goals: GoalsCfg):
        self.run, self.model, self.select = run, model, goals.select
        self._folder = folder / "parts"
        self._folder.mkdir(exist_ok=True)
        self._cfg = run.plain_config()
        self._players: dict[tuple[str, str], Player] = {}

    def of(self, result: TrialResult) -> dict[str, np.ndarray]:
        """The windows of a success: `embeddings`, `step`, `best`, `frames`; encoded now if they have not been."""
        assert result.npz is not None
        path = self._folder / Path(result.npz).name
        if not path.is_file():
            write_npz(path, self._encoded(result))
        return read_npz(path)

    def close(self) -> None:
        for player in self._players.values():
            player.close()

    def _encoded(self, result: TrialResult) -> dict[str, np.ndarray]:
        arrays = dict(self.run.episode(result).arrays)
        chosen = chosen_frames(arrays["rewards"], self.select.last, self.select.best)
        windows = {number: window_frames(number, self.model.window) for number in chosen}
        needed = sorted({frame for own in windows.values() for frame in own})
        frames = self._player(result).frames(result.trial, arrays, needed)
        fitted = {number: resize(frame, self.model.frame_size) for number, frame in frames.items()}
        batch = np.stack([np.stack([fitted[frame] for frame in own]) for own in windows.values()])
        return {
            "embeddings": pictures_of(self.model, batch).vectors,
            "step": np.array(list(chosen)),
            "best": np.array(list(chosen.values())),
            "frames": np.stack([_small(frames[number], self.select.picture_px) for number in chosen]),
        }

    def _player(self, result: TrialResult) -> Player:
        key = (result.trial.agent, result.trial.task)
        if key not in self._players:
            task = self._cfg.task(key[1]).for_agent(self._cfg.agent(key[0]))
            self._players[key] = Player(task, self.select.frames)
        return self._players[key]


def _small(frame: np.ndarray, longest_px: int) -> np.ndarray:
    scale = min(1.0, longest_px / max(frame.shape[:2]))
    return resize(frame, (max(1, round(scale * frame.shape[0])), max(1, round(scale * frame.shape[1]))))


def _task(cfg: EvalConfig, parts: _Parts, task: str, instruction: Instruction) -> TaskVisuals:
    """The windows of all successes of a task, in the order of agents and trials."""
    own = [r for r in parts.run.results() if r.trial.task == task]
    won = [r for r in own if r.outcome.scored and r.success and r.npz is not None]
    n_trials = sum(r.outcome.scored for r in own)
    if not won:
        dim = goals_of(parts.model, [instruction.text], np.random.default_rng(0)).dim
        return empty_task(parts.model.space, dim, instruction.text, n_trials)
    found = [parts.of(result) for result in won]
    sizes = [len(part["step"]) for part in found]
    return TaskVisuals(
        Embeddings(np.concatenate([part["embeddings"] for part in found]), parts.model.space),
        np.repeat(np.arange(len(won)), sizes),
        np.repeat([result.trial.seed for result in won], sizes),
        np.concatenate([part["step"] for part in found]),
        np.concatenate([part["best"] for part in found]),
        np.concatenate([part["frames"] for part in found]),
        instruction.text,
        n_trials,
    )
