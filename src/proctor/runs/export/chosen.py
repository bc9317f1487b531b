"""Which trials are exported, and the arrays of each by what they are: a value per step, or a constant."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from proctor.errors import InputError
from proctor.record.rundir import RunDir
from proctor.registry import did_you_mean
from proctor.runs.replay import find_trial
from proctor_host.episode import Outcome
from proctor_host.result import TrialResult

OBSERVED = "observations"


@dataclass(frozen=True)
class Choice:
    """Which finished trials: those named, or else all, narrowed by agent, task, outcome and film."""

    trials: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    outcomes: tuple[str, ...] = ()
    filmed: bool = False


@dataclass(frozen=True)
class Recorded:
    """A trial and its arrays. `steps` have a row for every step, `observed` one more: what the policy saw before each
    step, and after the last."""

    result: TrialResult
    dt_s: float
    n_steps: int
    steps: dict[str, np.ndarray]
    observed: dict[str, np.ndarray]
    constants: dict[str, np.ndarray]

    @property
    def key(self) -> str:
        return self.result.trial.key


def chosen(run: RunDir, choice: Choice) -> Episodes:
    """The finished trials with recorded arrays that a choice means, in the order of the run. Raises InputError where
    there is none, and where a name is not one of the run's."""
    cfg = run.plain_config()
    _known("agent", choice.agents, [agent.name for agent in cfg.agents])
    _known("task", choice.tasks, [task.name for task in cfg.tasks])
    _known("outcome", choice.outcomes, [outcome.value for outcome in Outcome])
    found = [find_trial(run, name) for name in choice.trials] if choice.trials else list(run.results())
    kept = [
        result
        for result in found
        if (not choice.agents or result.trial.agent in choice.agents)
        and (not choice.tasks or result.trial.task in choice.tasks)
        and (not choice.outcomes or result.outcome in choice.outcomes)
        and (not choice.filmed or film_of(run, result) is not None)
    ]
    recorded = [result for result in kept if result.npz is not None]
    if not kept:
        raise InputError(f"{run.path} has no such trial among the {len(found):,} that are finished")
    if not recorded:
        raise InputError(
            f"no arrays were recorded of the {len(kept):,} trials that were chosen; run with `record: series` or "
            "`record: video`"
        )
    return Episodes(run, recorded)


def film_of(run: RunDir, result: TrialResult) -> Path | None:
    """The film of a trial, where there is one."""
    path = None if result.video is None else run.path / result.video
    return path if path is not None and path.is_file() else None


class Episodes:
    """The chosen trials of a run, one after the other, each with its arrays sorted. An array is one of steps where it
    has a row for every step in all chosen trials of its task: a constant of as many rows is not taken for a signal."""

    def __init__(self, run: RunDir, results: Sequence[TrialResult]):
        self.run, self.results = run, results
        self._series: dict[str, set[str]] = {}
        for result in results:
            arrays = run.episode(result).arrays
            n = len(arrays["rewards"])
            fits = {name for name, values in arrays.items() if values.shape[:1] == (n,) and values.dtype.kind in "biuf"}
            known = self._series.setdefault(result.trial.task, fits)
            known &= fits

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Iterator[Recorded]:
        return map(self._sorted, self.results)

    def _sorted(self, result: TrialResult) -> Recorded:
        episode = self.run.episode(result)
        arrays, series = dict(sorted(episode.arrays.items())), self._series[result.trial.task]
        seen = {name: v for name, v in arrays.items() if name == OBSERVED or name.startswith(f"{OBSERVED}.")}
        steps = {name: v for name, v in arrays.items() if name in series and name not in seen}
        constants = {name: v for name, v in arrays.items() if name not in seen and name not in steps}
        return Recorded(result, episode.dt_s, episode.n_steps, steps, seen, constants)


def numbered(name: str, values: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """A column for each number of an array's row: `name`, or `name[0]`, `name[1]`, ..."""
    if values.ndim == 1:
        yield name, values
        return
    for place in np.ndindex(values.shape[1:]):
        yield f"{name}[{','.join(map(str, place))}]", values[(slice(None), *place)]


def _known(what: str, given: tuple[str, ...], names: list[str]) -> None:
    for name in given:
        if name not in names:
            raise InputError(f'no {what} "{name}" in this run; it has {", ".join(names)}' + did_you_mean(name, names))
