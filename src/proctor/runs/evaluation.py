"""Whole examinations: start one, go on with one, score one again.

Every function here leaves a run folder that the others can work on. `progress` is called a few times a second with a
snapshot; a `CancelToken` stops the run from any thread.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from proctor import metrics
from proctor.config import EvalConfig, apply_overrides, config_from_dict, scoring_from_dict
from proctor.errors import InputError
from proctor.plan.plan import Plan, Shard
from proctor.plan.resume import check_resumable
from proctor.policies import fingerprint
from proctor.record import environment
from proctor.record.ledger import Ledger
from proctor.record.rundir import RunDir
from proctor.record.video import require_video
from proctor.report import Report, ReportContext, write_batches
from proctor.rollout.engine import Engine
from proctor.rollout.progress import CancelToken, Observer, Progress
from proctor.rollout.stopper import Stopper
from proctor.runs.following import RunLogs
from proctor.scoring import make_scoring

BATCH = 256

log = logging.getLogger("proctor")


@dataclass(frozen=True)
class Finished:
    """What a session on a run folder came to. `report` is None where the run was stopped before any trial."""

    run: RunDir
    progress: Progress
    cancelled: bool
    report: Report | None

    @property
    def complete(self) -> bool:
        return self.progress.complete


@dataclass(frozen=True)
class Hooks:
    """How a caller follows and stops a run."""

    progress: Observer | None = None
    cancel: CancelToken | None = None


def run_evaluation(
    cfg: EvalConfig, *, progress: Observer | None = None, cancel: CancelToken | None = None, shard: str | None = None
) -> RunDir:
    """Run an examination in a new folder and write its reports. May be called from any thread."""
    return start(cfg, Hooks(progress, cancel), None if shard is None else Shard.parse(shard)).run


def start(cfg: EvalConfig, hooks: Hooks = Hooks(), shard: Shard | None = None) -> Finished:  # noqa: B008 - frozen
    """As `run_evaluation`, saying more of how it ended."""
    if cfg.record.level == "video":
        require_video()
    if shard is not None and shard.count > 1 and cfg.stop_when is not None:
        raise InputError(
            "a shard cannot follow stop_when: its test reads the trials of all shards in their order. Run without "
            "--shard, or without stop_when"
        )
    prints = {agent.name: fingerprint(agent) for agent in cfg.agents}
    run = RunDir.create(cfg, datetime.now())
    with run.locked():
        with run.ledger() as ledger:
            ledger.set_meta("shard", str(shard or Shard()))
            ledger.set_meta("fingerprints", prints)
            ledger.add(Plan(cfg, shard).placed())
        try:
            return _work(run, cfg, hooks)
        except InputError:
            if next(run.results(), None) is None:
                shutil.rmtree(run.path)
            raise


def resume(
    path: str | Path, overrides: Sequence[str] = (), hooks: Hooks = Hooks(), *, retry_unscored: bool = False  # noqa: B008
) -> Finished:  # fmt: skip
    """Run what is missing. Does nothing but rewrite the reports on a finished run."""
    run = RunDir.open(path)
    old = run.config()
    cfg = _overridden(old, overrides)
    check_resumable(old, cfg)
    with run.locked():
        with run.ledger() as ledger:
            _check_fingerprints(cfg, ledger)
            shard = Shard.parse(ledger.get_meta("shard", "1/1"))
            if shard.count > 1 and cfg.trials_per_agent != old.trials_per_agent:
                raise InputError(
                    f"{path} is shard {shard}; n_trials of a shard cannot change: merge the shards, then resume"
                )
            run.write_config(cfg)
            ledger.reopen(r.trial for r in ledger.results() if r.npz is not None and not (run.path / r.npz).is_file())
            if retry_unscored:
                ledger.reopen_unscored()
            ledger.add(Plan(cfg, shard).placed())
        return _work(run, cfg, hooks)


def _overridden(cfg: EvalConfig, overrides: Sequence[str]) -> EvalConfig:
    if not overrides:
        return cfg
    return config_from_dict(apply_overrides(cfg.model_dump(mode="json"), overrides))


def _check_fingerprints(cfg: EvalConfig, ledger: Ledger) -> None:
    known = ledger.get_meta("fingerprints", {})
    changed = [a.name for a in cfg.agents if a.name in known and known[a.name] != fingerprint(a)]
    if changed:
        raise InputError(
            f"the files of agent {', '.join(changed)} have changed since this run began; its finished trials belong to "
            "the old ones. Put the old files back, or start a new run."
        )


def _work(run: RunDir, cfg: EvalConfig, hooks: Hooks) -> Finished:
    """One session, followed by the config's loggers. The folder is locked."""
    with _logging_to(run.path / "run.log"), RunLogs(run, cfg) as logs:
        finished = _session(run, cfg, replace(hooks, progress=logs.ahead_of(hooks.progress)))
        logs.end(finished.progress, None if finished.report is None else run.report())
        return finished


def _session(run: RunDir, cfg: EvalConfig, hooks: Hooks) -> Finished:
    """The engine, then the reports."""
    began = time.monotonic()
    session = _note_session(run)
    with run.ledger() as ledger:
        shard = Shard.parse(ledger.get_meta("shard", "1/1"))
        engine = Engine(cfg, Plan(cfg, shard), run.path, ledger)
        engine.observer = hooks.progress
        engine.cancel = hooks.cancel or engine.cancel
        log.info("session begins: %d planned, %d done", *ledger.counts())
        try:
            progress = engine.run()
        finally:
            _add_duration(ledger, time.monotonic() - began)
            _add_batching(ledger, engine)
            _add_spent(ledger, engine)
        log.info("session ends: %d of %d done, %d unscored", progress.done, progress.planned, progress.unscored)
    session["seconds"] = round(time.monotonic() - began, 3)
    _end_session(run, session)
    report = write_report(run) if progress.done else None
    return Finished(run, progress, engine.cancel.cancelled, report)


# Reports --------------------------------------------------------------------------------------------------------------


def write_report(run: RunDir) -> Report:
    """Write every report file from what is in the ledger."""
    cfg = run.config()
    with run.ledger() as ledger:
        planned, _ = ledger.counts()
        stopper = Stopper(cfg, ledger)
        stopper.mark()
        env = run.read_json("environment.json", {})
        shard = Shard.parse(ledger.get_meta("shard", "1/1"))
        context = ReportContext(
            generated_at=datetime.now(UTC).isoformat(timespec="seconds"),
            environment={**env.get("current", {}), "models": ledger.get_meta("fingerprints", {})},
            planned=planned,
            duration_s=ledger.get_meta("seconds"),
            batch=ledger.get_meta("batching"),
            spent=ledger.get_meta("spent"),
            notes=_notes(ledger, shard),
            stops=stopper.stops(),
            spared=stopper.spared(),
        )
        return write_batches(run.path, cfg, ledger.batches(), context)


def _notes(ledger: Ledger, shard: Shard) -> tuple[str, ...]:
    source = ledger.get_meta("imported_from")
    imported = f"Imported from {source}: steps and times that the file does not have are shown as 0."
    return (
        *((f"This is shard {shard} of the run.",) if shard.count > 1 else ()),
        *((imported,) if source else ()),
    )


def score(path: str | Path, overrides: Sequence[str] = (), weights: Mapping[str, float] | None = None) -> Report:
    """Compute metrics, scores and reports again from the records alone. Overrides may change `scoring` only; `weights`
    are those of terms (scoring `terminal`), on every task that recorded them."""
    run = RunDir.open(path)
    old = run.config()
    cfg = _rescored(old, overrides)
    with run.locked():
        with run.ledger() as ledger:
            recorded = (r for r in run.results() if r.npz is not None)
            while batch := [(r.trial, _recomputed(run, r, cfg)) for r in itertools.islice(recorded, BATCH)]:
                ledger.set_metrics(batch)
            if weights:
                cfg = _reweighted(cfg, weights, ledger)
            _check_scoring(cfg, ledger)
        run.write_config(cfg)
        return write_report(run)


def _check_scoring(cfg: EvalConfig, ledger: Ledger) -> None:
    """Raise what the scoring says of the tasks and of the first trial of each, before it takes the old one's place."""
    scoring = make_scoring(cfg.scoring)
    scoring.check_tasks(task.name for task in cfg.tasks)
    left = {task.name for task in cfg.tasks}
    for result in ledger.results():
        if not left:
            return
        if result.trial.task in left and result.outcome.scored and not result.outcome.broken_by_policy:
            scoring.score(result)
            left.remove(result.trial.task)


def _reweighted(cfg: EvalConfig, weights: Mapping[str, float], ledger: Ledger) -> EvalConfig:
    from proctor.suites.soccer.scoring.terminal import with_weights

    recorded: dict[str, dict[str, None]] = {}
    for result in ledger.results():
        recorded.setdefault(result.trial.task, {}).update(dict.fromkeys(result.metrics))
    options = with_weights(cfg.scoring, weights, {task: list(names) for task, names in recorded.items()})
    return cfg.model_copy(update={"scoring": cfg.scoring.model_copy(update={"options": options})})


def _rescored(cfg: EvalConfig, overrides: Sequence[str]) -> EvalConfig:
    """The config with another scoring. The files of agents and tasks need not be there any more."""
    before = cfg.model_dump(mode="json")
    after = apply_overrides(before, overrides)
    if {**after, "scoring": None} != {**before, "scoring": None}:
        raise InputError("proctor score changes the scoring only: --set scoring.KEY=VALUE")
    return cfg.model_copy(update={"scoring": scoring_from_dict(after["scoring"])})


def _recomputed(run: RunDir, result: Any, cfg: EvalConfig) -> dict[str, float | None]:
    episode = run.episode(result)
    if result.digest is not None and episode.digest() != result.digest:
        raise InputError(
            f"the record {run.path / result.npz} has been changed since it was written; restore it, or run again"
        )
    return metrics.compute(episode, cfg.scoring.metrics)


# Sessions -------------------------------------------------------------------------------------------------------------


def _note_session(run: RunDir) -> dict[str, Any]:
    """Describe this session in environment.json, and warn where decisive versions differ from the first session's."""
    known = run.read_json("environment.json", {"sessions": []})
    session = {"started_at": datetime.now(UTC).isoformat(timespec="seconds"), **environment.describe()}
    if known["sessions"]:
        before = known["sessions"][0]["versions"]
        for name in environment.DECISIVE:
            if before.get(name) != session["versions"].get(name):
                text = f"{name} was {before.get(name)} when this run began and is {session['versions'].get(name)} now"
                session.setdefault("warnings", []).append(text)
                log.warning("%s; trials of the two sessions may differ", text)
    known["sessions"].append(session)
    known["current"] = session
    run.write_json("environment.json", known)
    return session


def _end_session(run: RunDir, session: dict[str, Any]) -> None:
    known = run.read_json("environment.json")
    known["sessions"][-1] = known["current"] = session
    run.write_json("environment.json", known)


def _add_duration(ledger: Ledger, seconds: float) -> None:
    ledger.set_meta("seconds", round(ledger.get_meta("seconds", 0.0) + seconds, 3))


def _add_batching(ledger: Ledger, engine: Engine) -> None:
    """Forwards, rows and seconds per agent and stage, added up over sessions."""
    known = ledger.get_meta("batching", {})
    for agent, stages in engine.batching.items():
        for stage, stats in stages.items():
            before = known.setdefault(agent, {}).setdefault(stage, {"forwards": 0, "rows": 0, "seconds": 0.0})
            before["forwards"] += stats.forwards
            before["rows"] += stats.rows
            before["seconds"] = round(before["seconds"] + stats.seconds, 3)
    ledger.set_meta("batching", known)


def _add_spent(ledger: Ledger, engine: Engine) -> None:
    """Slot-seconds by place, added up over sessions."""
    lanes = [stats for stages in engine.batching.values() for stats in stages.values()]
    known = ledger.get_meta("spent", {})
    new = engine.account.seconds(lanes)
    if new:
        ledger.set_meta("spent", {place: round(known.get(place, 0.0) + s, 3) for place, s in new.items()})


@contextlib.contextmanager
def _logging_to(path: Path) -> Iterator[None]:
    handler = logging.FileHandler(path, encoding="utf-8", delay=True)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    log.addHandler(handler)
    level, propagate = log.level, log.propagate
    log.setLevel(logging.INFO)
    log.propagate = False
    try:
        yield
    finally:
        log.removeHandler(handler)
        handler.close()
        log.setLevel(level)
        log.propagate = propagate
