"""Writing the reports of a run from what is in its ledger, and `--set` for a run that exists: which keys a verb may
change, and the config with them changed."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from tempfile import TemporaryDirectory

from proctor.config import EvalConfig, apply_overrides
from proctor.config.checks import check_report
from proctor.config.problems import Problems
from proctor.config.validate import validate
from proctor.errors import InputError
from proctor.plan.plan import Shard
from proctor.plan.resume import differences
from proctor.record.columns import Trials
from proctor.record.environment import Noted
from proctor.record.ledger import Ledger
from proctor.record.records import Found, of_wrong_size
from proctor.record.rundir import RunDir
from proctor.report import Report, ReportContext, drawn_up, write_reports
from proctor.report.text import count
from proctor.rollout.stopper import Stopper
from proctor.runs import conditions, places
from proctor.runs.noting import protocols
from proctor.runs.portraits import portray
from proctor.verdict.raters import kept_ratings
from proctor.verdict.trials import planned_in

CORRECTED = "corrected"
"""The ledger's note of what was not as its records have it."""
LEVEL = 0.95
"""Of intervals, where no error rate is declared."""


def shard_of(ledger: Ledger) -> Shard:
    """The part of the run that this ledger is of; 1/1 is all of it."""
    return Shard.parse(ledger.get_meta("shard", "1/1"))


def write_report(run: RunDir, overrides: Sequence[str] = (), out: Path | None = None) -> Report:
    """Write every report file from what is in the ledger. Overrides may change `report` and the groups of agents, for
    these files alone: the run's config stays. `out`: another folder to write to, which exists."""
    cfg = changed(run.config(), overrides, ("report", "agents.*.group"), "proctor report")
    here = out is None or os.path.realpath(out) == str(run.real)
    draws = functools.partial(portray, run.real, cfg) if here else None
    with run.ledger() as ledger:
        return write_reports(run.real, cfg, ledger.batches(), _context(run, cfg, ledger), out, draws)


def read_report(run: RunDir) -> tuple[Report, Trials]:
    """The report of a run as it stands, and its trials. Nothing is written to its folder."""
    cfg = run.config()
    with TemporaryDirectory(prefix="proctor-report-") as aside, run.ledger(copied=True) as ledger:
        context = _context(run, cfg, ledger)
        return drawn_up(run.real, cfg, ledger.batches(), context, Path(aside))


def _context(run: RunDir, cfg: EvalConfig, ledger: Ledger) -> ReportContext:
    """What a report needs beside config and results. Settles in the ledger what is not settled yet."""
    ledger.settle_success()
    planned, _ = ledger.counts()
    stopper = Stopper(cfg, ledger)
    stopper.mark()
    env, rows = run.environment(), ledger.get_meta("rows", {})
    return ReportContext(
        generated_at=datetime.now(UTC).isoformat(timespec="seconds"),
        environment={**env.current, "models": ledger.get_meta("fingerprints", {}), "rows": rows},
        planned=planned,
        duration_s=ledger.get_meta("seconds"),
        batch=ledger.get_meta("batching"),
        spent=ledger.get_meta("spent"),
        rounding=tuple(conditions.rounding(rows)),
        notes=_notes(ledger),
        cautions=(
            *_about_records(run, ledger),
            *conditions.unsaid(cfg, ledger.silent_tasks()),
            *_cautions(env),
            *conditions.cautions(rows, env.sessions),
            *places.cautions(run.path, env.sessions, cfg),
        ),
        stops=stopper.stops(),
        spared=stopper.spared(),
        protocols=protocols(ledger),
        ratings=kept_ratings(ledger),
        level=LEVEL if cfg.declare is None else round(1 - cfg.declare.alpha, 12),
        looks=tuple(ledger.looks()),
        initial_states=ledger.initial_states(),
        unfinished=planned_in(ledger, ledger.by_seed()),
        nodes=tuple(ledger.nodes()),
    )


def _about_records(run: RunDir, ledger: Ledger) -> Iterator[str]:
    """What is wrong with the records, by their sizes, and what was found wrong with the ledger."""
    found = Found(of_wrong_size(run.path, ledger))
    if found.n and not (run.path / "trials").is_dir():
        gone = count(found.n, "trial")
        yield f"The folder trials/ is missing, with the records of {gone}: nothing can be recomputed."
    elif found.n:
        yield (
            f"The records of {count(found.n, 'trial')} are damaged, and these numbers cannot be recomputed: "
            f"{found}. `proctor resume` runs such trials again."
        )
    yield from ledger.get_meta(CORRECTED, [])


def _cautions(environment: Noted) -> tuple[str, ...]:
    """What differed between sessions that ran trials, each difference once. One that was killed may have run some."""
    sessions = [session for session in environment.sessions if session.get("trials") != 0]
    warnings = dict.fromkeys(warning for session in sessions for warning in session.get("warnings", []))
    return (
        *((environment.problem,) if environment.problem else ()),
        *(f"{warning}: trials of the two sessions may differ." for warning in warnings),
    )


def _notes(ledger: Ledger) -> tuple[str, ...]:
    shard = shard_of(ledger)
    source = ledger.get_meta("imported_from")
    imported = f"Imported from {source}: what the file does not have, such as steps and times, is left empty."
    return (
        *((f"This is shard {shard} of the run.",) if shard.count > 1 else ()),
        *((imported,) if source else ()),
    )


def changed(cfg: EvalConfig, overrides: Sequence[str], may: Sequence[str], verb: str) -> EvalConfig:
    """The config with overrides of keys that `may` change: patterns of dotted keys, which stand for all that is under
    them. The files of agents and tasks need not be there any more. Raises InputError for another key, and ConfigError
    for a value that does not fit."""
    if not overrides:
        return cfg
    before = cfg.model_dump(mode="json")
    after = apply_overrides(before, overrides)
    refused = [key for key, _, _ in differences(before, after) if not any(_under(key, pattern) for pattern in may)]
    if refused:
        raise InputError(f"{verb} cannot change {', '.join(refused)}; it changes {', '.join(may)} only")
    problems = Problems("--set")
    found = validate(EvalConfig, after, (), problems)
    if found is not None:
        check_report(found, problems)
    problems.raise_any()
    assert found is not None
    return found


def _under(key: str, pattern: str) -> bool:
    return fnmatchcase(key, pattern) or fnmatchcase(key, f"{pattern}.*")
