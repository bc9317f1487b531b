"""Running one recorded trial again, to check its bytes and to see it."""

from __future__ import annotations

import functools
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from proctor.config.code import code_of, module_folders
from proctor.config.models import EvalConfig, RecordCfg, VideoCfg, WorkersCfg
from proctor.errors import InputError, RunError
from proctor.foreign import read_npz
from proctor.interpreters import search_last
from proctor.plan.plan import Plan
from proctor.record import environment
from proctor.record.ledger import Ledger
from proctor.record.rundir import RunDir
from proctor.record.runtimes import Runtime
from proctor.record.video import require_video
from proctor.registry import did_you_mean
from proctor.rollout.engine import Engine
from proctor.rollout.progress import Progress
from proctor.runs import places
from proctor.runs.conditions import cautions
from proctor.runs.session import threads_of
from proctor.threads import wanted
from proctor_host.episode import Outcome, digest
from proctor_host.result import TrialResult
from proctor_host.trials import Trial

Told = Callable[[TrialResult, Progress], None]


@dataclass(frozen=True)
class Replay:
    """`differing` names the arrays that are not equal to the byte; empty: the trial is reproduced. `video` is None
    where none was asked for or the trial gave no frame. `conditions`: what a trial's bytes may depend on and is not as
    it was, or not known."""

    recorded: TrialResult
    again: TrialResult
    differing: tuple[str, ...]
    video: Path | None
    conditions: tuple[str, ...] = ()

    @property
    def equal(self) -> bool:
        return self.recorded.digest == self.again.digest and self.recorded.outcome is self.again.outcome


def replay(
    path: str | Path, name: str, video: Path | None = None, *, trust: bool = False, told: Told | None = None
) -> Replay:
    """Run a trial again, with the run's number of numeric threads. `name` is its key (`agent/task/0003`), the name of
    its npz, or a short name (`find_trial`). `video`: also film it there. The code that the run names must be trusted
    (`proctor.record.trust`), unless `trust`. `told` is called now and then with the recorded trial and how far it is
    this time."""
    if video is not None:
        require_video()
    run = RunDir.open(path, trust=trust)
    whole = run.plain_config()
    run.require_trust(code_of(whole))
    search_last(module_folders(whole))
    recorded = find_trial(run, name)
    cfg = _only(whole, recorded, film=video is not None)
    runtimes = places.find_again(run, cfg)
    with tempfile.TemporaryDirectory(prefix="proctor-replay-") as temporary:
        folder = Path(temporary)
        again = _settled(recorded, _run(cfg, recorded, Again(folder, threads_of(run), told)))
        differing = _compare(run, recorded, folder, again)
        if video is not None and again.video is not None:
            video.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(folder / again.video, video)
    return Replay(recorded, again, differing, None if again.video is None else video, _conditions(run, cfg, runtimes))


def find_trial(run: RunDir, name: str) -> TrialResult:
    """The finished trial of this name: its key, its npz file, or a short name that means no other (`short_names`), or
    else the beginning of one key. Raises InputError where there is none, or where several could be meant."""
    stem = Path(name).name.removesuffix(".npz")
    keys, meant = [], [list[TrialResult]() for _ in range(3)]
    for result in run.results():
        key = result.trial.key
        if name == key or (result.npz is not None and Path(result.npz).stem == stem):
            return result
        keys.append(key)
        first, second = short_names(result.trial)
        for tier, fits in zip(meant, (name in first, name in second, bool(name) and key.startswith(name)), strict=True):
            tier += [result] if fits else []
    found = next(filter(None, meant), [])
    if len(found) == 1:
        return found[0]
    if found:
        some = ", ".join(result.trial.key for result in found[:5])
        more = f" and {len(found) - 5:,} more" if len(found) > 5 else ""
        raise InputError(f'"{name}" could mean {len(found):,} trials of {run.path}: {some}{more}; say which')
    shown = ", ".join(keys[:3]) + (f", ... {keys[-1]}" if len(keys) > 3 else "")
    raise InputError(
        f'no finished trial "{name}" in {run.path}'
        + (did_you_mean(name, keys) or (f"; it has {shown}" if keys else "; none is finished"))
        + " (npz_path in summary.csv names them too)"
    )


def short_names(trial: Trial) -> tuple[set[str], set[str]]:
    """What a trial may be called where that means no other: agent and task, or one of them, or none, and its index with
    or without zeros or its seed (`seed126`). Second, and asked last: the same with the seed as a plain number."""
    owners = ("", f"{trial.agent}/", f"{trial.task}/", f"{trial.agent}/{trial.task}/")
    first = (f"{trial.index:04d}", str(trial.index), f"seed{trial.seed}")
    return {owner + last for owner in owners for last in first}, {f"{owner}{trial.seed}" for owner in owners}


def _only(cfg: EvalConfig, result: TrialResult, film: bool) -> EvalConfig:
    """The run's config with one agent and one task, everything recorded."""
    record = RecordCfg(
        level="video" if film else "series",
        observations=cfg.record.observations,
        states=cfg.record.states,
        video=VideoCfg(trials="all", every=cfg.record.video.every, fps=cfg.record.video.fps),
    )
    agents, tasks = (cfg.agent(result.trial.agent),), (cfg.task(result.trial.task),)
    only = {"agents": agents, "tasks": tasks, "record": record, "num_parallel": 1}
    return cfg.model_copy(update={**only, "workers": WorkersCfg(kind="process", count=1)})


def _conditions(run: RunDir, cfg: EvalConfig, runtimes: Sequence[Runtime]) -> tuple[str, ...]:
    """Where the trial is run again under other conditions than the run says it began with, and what the run found out
    about its agent's rows."""
    with run.ledger() as ledger:
        rows = {name: found for name, found in ledger.get_meta("rows", {}).items() if name == cfg.agents[0].name}
    known = (*places.changes(run, runtimes, cfg), *cautions(rows, ()))
    sessions = run.environment().sessions
    threads = threads_of(run)
    if threads is None:
        return (f"the run does not say how many numeric threads it computed with; this was {wanted()}", *known)
    return (*environment.changes(sessions[0], environment.describe(threads)), *known)


class Again(NamedTuple):
    """Where and with how many numeric threads a trial is run again, and who is told."""

    folder: Path
    threads: int | None
    told: Told | None


def _run(cfg: EvalConfig, recorded: TrialResult, how: Again) -> TrialResult:
    folder, told = how.folder, how.told
    (folder / "trials").mkdir()
    with Ledger.create(folder / "ledger.sqlite") as ledger:
        ledger.add([(recorded.trial, 0, 0)])
        engine = Engine(cfg, Plan(cfg), folder, ledger)
        engine.threads = how.threads
        engine.observer = None if told is None else functools.partial(told, recorded)
        engine.run()
        again = next(ledger.results(), None)
    if again is None:
        raise RunError(f"trial {recorded.trial.key} could not be run again")
    return again


def _settled(recorded: TrialResult, again: TrialResult) -> TrialResult:
    """A trial in which nothing said what success is had none where others of its task said it
    (`Ledger.settle_success`); run alone it cannot know of them."""
    if again.outcome is Outcome.DONE and recorded.outcome in (Outcome.FAILURE, Outcome.TRUNCATED):
        return replace(again, outcome=recorded.outcome, success=recorded.success)
    return again


def _compare(run: RunDir, recorded: TrialResult, folder: Path, again: TrialResult) -> tuple[str, ...]:
    if recorded.digest == again.digest:
        return ()
    if recorded.npz is None or again.npz is None:
        return ("everything",)
    before, after = run.episode(recorded).arrays, read_npz(folder / again.npz)
    shared = before.keys() & after.keys()
    same = {name for name in shared if digest({"": before[name]}) == digest({"": after[name]})}
    return tuple(sorted({*before, *after} - same))
