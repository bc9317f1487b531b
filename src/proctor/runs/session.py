"""One session on a run folder: the engine, its loggers, then the reports.

Starting and resuming a run are sessions. `progress` is called a few times a second with a snapshot; a `CancelToken`
stops the run from any thread.
"""

from __future__ import annotations

import contextlib
import logging
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from io import TextIOWrapper
from pathlib import Path
from typing import Any

from proctor.config import EvalConfig
from proctor.plan.plan import Plan
from proctor.record import environment
from proctor.record.disk import finishing
from proctor.record.files import no_follow
from proctor.record.ledger import Ledger
from proctor.record.rundir import RunDir
from proctor.report import Report
from proctor.rollout.attending import Operator
from proctor.rollout.engine import Engine
from proctor.rollout.progress import CancelToken, Observer, Progress
from proctor.runs import places
from proctor.runs.conditions import added
from proctor.runs.following import RunLogs
from proctor.runs.pulse import Pulse
from proctor.runs.report import shard_of, write_report
from proctor.threads import wanted

log = logging.getLogger("proctor")


@dataclass(frozen=True)
class RunEnd:
    """How a session on a run folder ended. `report` is None where the run was stopped before any trial. `notes`: what
    the user is to know of how the session began."""

    run: RunDir
    progress: Progress
    cancelled: bool
    report: Report | None
    notes: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        return self.progress.complete


@dataclass(frozen=True)
class Hooks:
    """How a caller follows and stops a run; `operator` is asked where trials need a person. `node`: what is noted of
    this machine, where it is one of several that work on the same examination."""

    progress: Observer | None = None
    cancel: CancelToken | None = None
    operator: Operator | None = None
    node: Mapping[str, Any] = field(default_factory=dict)


def work(run: RunDir, cfg: EvalConfig, hooks: Hooks) -> RunEnd:
    """One session, followed by the config's loggers. The folder is locked."""
    with finishing(run.path), logging_to(run.path / "run.log"), RunLogs(run, cfg) as logs:
        end = _session(run, cfg, replace(hooks, progress=logs.ahead_of(hooks.progress)))
        logs.end(end.progress, None if end.report is None else run.report())
    return replace(end, notes=(*end.notes, *logs.notes))


def _session(run: RunDir, cfg: EvalConfig, hooks: Hooks) -> RunEnd:
    """Run the engine, note what the session took, and write the reports."""
    began = time.monotonic()
    threads = threads_of(run) or wanted()
    runtimes = places.find_for_session(run, cfg)
    sessions = _note_session(run, threads, runtimes)
    with run.ledger() as ledger:
        engine = Engine(cfg, Plan(cfg, shard_of(ledger)), run.path, ledger)
        engine.threads, engine.here = threads, hooks.node
        engine.fresh = len(sessions["sessions"]) == 1
        engine.learned = lambda: _note_hosts(run, sessions, engine)
        pulse = Pulse(run.real, engine, hooks.progress)
        engine.observer, engine.operator = pulse, hooks.operator
        engine.cancel = hooks.cancel or engine.cancel
        log.info("session begins: %d planned, %d done", *ledger.counts())
        try:
            progress = engine.run()
        finally:
            ledger.set_meta("seconds", round(ledger.get_meta("seconds", 0.0) + time.monotonic() - began, 3))
            _add_batching(ledger, engine)
            _add_spent(ledger, engine)
            _add_rows(ledger, engine)
        log.info("session ends: %d of %d done, %d unscored", progress.done, progress.planned, progress.unscored)
    pulse.end()
    sessions["current"]["placement"] = engine.placed
    sessions["current"]["trials"] = progress.done - progress.done_before
    sessions["current"]["seconds"] = round(time.monotonic() - began, 3)
    run.write_json("environment.json", sessions)
    report = write_report(run) if progress.done else None
    return RunEnd(run, progress, engine.cancel.cancelled, report)


def threads_of(run: RunDir) -> int | None:
    """How many numeric threads a run has computed with since it began; None where that is not recorded."""
    sessions = run.environment().sessions
    return sessions[0].get("numeric_threads") if sessions else None


def _note_session(run: RunDir, threads: int, runtimes: list[dict[str, Any]]) -> dict[str, Any]:
    """Describe this session in environment.json, and warn where something decisive differs from the first session. The
    contents of that file: `sessions`, of which the last is also `current`. The folder gets the runtimes' locks."""
    before = run.environment()
    if before.problem is not None:
        log.warning(before.problem)
    session: dict[str, Any] = {
        "started_at": datetime.now(UTC).isoformat(timespec="seconds"),
        **environment.describe(threads),
        **({"runtimes": runtimes} if runtimes else {}),
    }
    for text in environment.changes(before.sessions[0], session) if before.sessions else ():
        session.setdefault("warnings", []).append(text)
        log.warning("%s; trials of the two sessions may differ", text)
    if threads != wanted():
        log.info("numeric threads: %d, as when this run began (%d are asked for now)", threads, wanted())
    places.keep_locks(run, runtimes)
    known = {"sessions": [*before.sessions, session], "current": session}
    run.write_json("environment.json", known)
    return known


def _note_hosts(run: RunDir, sessions: dict[str, Any], engine: Engine) -> None:
    """Note what hosts that are served elsewhere say of themselves, and warn of runtimes that are not those that the run
    began with."""
    runtimes = sessions["current"].get("runtimes", [])
    if places.greeted(runtimes, engine.greetings()):
        run.write_json("environment.json", sessions)
    for text in places.changes(run, runtimes, engine.cfg):
        log.warning("%s; trials of the two sessions may differ", text)


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


def _add_rows(ledger: Ledger, engine: Engine) -> None:
    """Rows of a forward and what they were found to depend on, per agent and stage, added up over sessions."""
    new = {
        agent: {
            stage: {"pad_to": pad_to, **asdict(engine.batching[agent][stage].found)} for stage, pad_to in stages.items()
        }
        for agent, stages in engine.pad_to.items()
    }
    ledger.set_meta("rows", added(ledger.get_meta("rows", {}), new))


class _RunLog(logging.FileHandler):
    """A run's log. A line that the disk does not take is left out: whatever else is written tells of the disk."""

    def _open(self) -> TextIOWrapper:
        return open(self.baseFilename, "a", encoding="utf-8", opener=no_follow)

    def handleError(self, record: logging.LogRecord) -> None:
        if not isinstance(sys.exception(), OSError):
            super().handleError(record)


@contextlib.contextmanager
def logging_to(path: Path) -> Iterator[None]:
    """Write what Proctor logs to this file, and nowhere else."""
    handler = _RunLog(path, encoding="utf-8", delay=True)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    log.addHandler(handler)
    level, propagate = log.level, log.propagate
    log.setLevel(logging.INFO)
    log.propagate = False
    try:
        yield
    finally:
        log.removeHandler(handler)
        with contextlib.suppress(OSError):
            handler.close()
        log.setLevel(level)
        log.propagate = propagate
