"""Outcomes from elsewhere, trials on a real robot for instance, as a run folder that reports and comparisons read.

A CSV file with a row per trial. `agent` and `success` must be there; `task`, `trial`, `seed`, `score`, `steps`,
`max_steps`, `outcome` and `case` may be; every other column with numbers is kept as a metric. With a `seed` (whatever
numbers initial conditions), trials of one seed are paired between agents; without, they are independent.
"""

from __future__ import annotations

import csv
import io
import itertools
import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from proctor.config.models import AgentCfg, EvalConfig, RecordCfg, ScoringCfg, TaskCfg
from proctor.errors import InputError
from proctor.plan.trial import Trial
from proctor.record.episode import Outcome
from proctor.record.result import TrialResult
from proctor.record.rundir import RunDir
from proctor.report import Report
from proctor.runs.changing import changed
from proctor.runs.noting import note_protocol
from proctor.runs.report import write_report
from proctor.verdict.trials import IMPORTED

KNOWN = ("agent", "task", "trial", "seed", "success", "score", "steps", "max_steps", "outcome", "case")
YES, NO = {"1", "true", "yes", "success", "1.0"}, {"0", "false", "no", "failure", "fail", "0.0"}
MAY_CHANGE = ("report", "declare", "agents.*.group")
"""What overrides may change of an imported run."""


@dataclass(frozen=True)
class ImportOptions:
    name: str
    output_root: str = "results/eval_runs"
    task: str = "task"
    """The task of rows that name none."""
    overrides: tuple[str, ...] = ()
    """Changes of the run's config (`key=value`), of the keys in MAY_CHANGE."""


@dataclass(frozen=True)
class _Row:
    """A trial as the file has it. `result` has the index 0 until all rows are known; its reward is the score."""

    line: int
    trial: int | None
    seed: int | None
    result: TrialResult

    @property
    def cell(self) -> tuple[str, str]:
        return self.result.trial.agent, self.result.trial.task


def import_outcomes(path: str | Path, options: ImportOptions) -> tuple[RunDir, Report]:
    """A new run folder with the outcomes of a CSV file, and its report. Errors name row and column."""
    rows = _read(Path(path), options)
    results = _numbered(rows)
    cfg = changed(_config(rows, results, options, Path(path)), options.overrides, MAY_CHANGE, "proctor import")
    _check_declared(cfg, results)
    run = RunDir.create(cfg, datetime.now())
    agents, tasks = [a.name for a in cfg.agents], [t.name for t in cfg.tasks]
    with run.locked(), run.ledger() as ledger:
        ledger.set_meta("shard", "1/1")
        ledger.set_meta("imported_from", str(path))
        note_protocol(ledger, cfg)
        ledger.add((r.trial, agents.index(r.trial.agent), tasks.index(r.trial.task)) for r in results)
        ledger.finish(results)
    return run, write_report(run)


def _check_declared(cfg: EvalConfig, results: Iterable[TrialResult]) -> None:
    known = {"success", "score", *(name for result in results for name in result.metrics)}
    if cfg.declare is not None and cfg.declare.primary not in known:
        found = f'declare.primary: found "{cfg.declare.primary}"'
        raise InputError(f"{found}; expected success, score or a column with numbers: {', '.join(sorted(known))}")


# Reading --------------------------------------------------------------------------------------------------------------


def _read(path: Path, options: ImportOptions) -> list[_Row]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read: {error}") from None
    first = text.partition("\n")[0]
    delimiter = max(",;\t", key=first.count)
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter)
    names = [name.strip() for name in reader.fieldnames or []]
    reader.fieldnames = names
    _check_header(path, names)
    rows = [_row(path, reader.line_num, raw, options) for raw in reader]
    if not rows:
        raise InputError(f"{path} has a header and no rows; expected a row per trial")
    return rows


def _check_header(path: Path, names: list[str]) -> None:
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise InputError(f'{path}, row 1: column "{twice[0]}" is there twice')
    missing = ["agent"] if "agent" not in names else []
    missing += ["success"] if not {"success", "outcome"} & set(names) else []
    if missing:
        found = ", ".join(names) or "nothing"
        raise InputError(
            f"{path}, row 1: no column {' and no column '.join(missing)}; found {found}. Expected agent and success, "
            f"and if you have them {', '.join(name for name in KNOWN if name not in ('agent', 'success'))}"
        )


@dataclass(frozen=True)
class _Cells:
    """The cells of a row, and how to say what is wrong with one."""

    path: Path
    line: int
    raw: dict[str, Any]

    def text(self, name: str) -> str | None:
        value = self.raw.get(name)
        return value.strip() or None if isinstance(value, str) else None

    def bad(self, name: str, expected: str) -> InputError:
        found = self.text(name)
        shown = "nothing" if found is None else f'"{found}"'
        return InputError(f"{self.path}, row {self.line}, column {name}: found {shown}, expected {expected}")

    def whole(self, name: str, least: int = 0) -> int | None:
        value = self.number(name, "a whole number")
        if value is None:
            return None
        if value != int(value) or value < least:
            raise self.bad(name, f"a whole number from {least} on")
        return int(value)

    def number(self, name: str, expected: str = "a number") -> float | None:
        found = self.text(name)
        if found is None or found.lower() in ("nan", "none", "na"):
            return None
        try:
            value = float(found)
        except ValueError:
            raise self.bad(name, expected) from None
        if not math.isfinite(value):
            raise self.bad(name, "a finite number, or nothing")
        return value


def _row(path: Path, line: int, raw: dict[str, Any], options: ImportOptions) -> _Row:
    cells = _Cells(path, line, raw)
    if None in raw:
        raise InputError(f"{path}, row {line}: more cells than the header has columns")
    agent = cells.text("agent")
    if agent is None:
        raise cells.bad("agent", "a name")
    outcome, steps, seed = _outcome(cells), cells.whole("steps"), cells.whole("seed")
    won = outcome is Outcome.SUCCESS
    result = TrialResult(
        trial=Trial(agent, cells.text("task") or options.task, 0, seed or 0),
        outcome=outcome,
        success=won,
        steps_total=steps,
        steps_to_success=steps if won else None,
        first_success=steps if won else None,
        episode_reward=cells.number("score"),
        max_steps=cells.whole("max_steps", least=1),
        metrics={name: cells.number(name) for name in raw if name not in KNOWN and name},
        error=None if outcome.scored and not outcome.broken_by_policy else f"{outcome.value}, as imported",
        case=cells.text("case"),
    )
    return _Row(line, cells.whole("trial"), seed, result)


def _outcome(cells: _Cells) -> Outcome:
    """By `outcome` where the file has it, else by `success`; the two must agree."""
    named, won = cells.text("outcome"), _success(cells)
    if named is None:
        if won is None:
            raise cells.bad("success", "1 or 0 (a trial that does not count needs an outcome: env_error, timeout)")
        return Outcome.SUCCESS if won else Outcome.FAILURE
    try:
        outcome = Outcome(named.lower())
    except ValueError:
        raise cells.bad("outcome", f"one of {', '.join(o.value for o in Outcome)}") from None
    if won is not None and outcome.scored and won != (outcome is Outcome.SUCCESS):
        raise cells.bad("success", f"{int(outcome is Outcome.SUCCESS)}, since the outcome is {outcome.value}")
    return outcome


def _success(cells: _Cells) -> bool | None:
    found = (cells.text("success") or "").lower()
    if not found:
        return None
    if found in YES | NO:
        return found in YES
    raise cells.bad("success", "1 or 0, true or false, yes or no")


# Trials ---------------------------------------------------------------------------------------------------------------


def _numbered(rows: list[_Row]) -> list[TrialResult]:
    """Results with an index each: the seed, or where trials are numbered as well, the place of both among those of the
    task. It is the same for every agent."""
    seeded = [row for row in rows if row.seed is not None]
    if seeded and len(seeded) < len(rows):
        blank = next(row for row in rows if row.seed is None)
        raise InputError(
            f"row {blank.line}, column seed: empty, while other rows have one; give all rows a seed, or none"
        )
    keys = _keys(rows)
    by_seed = bool(seeded) and all(row.trial is None for row in rows)
    tasks = itertools.groupby(sorted(set(keys)), key=lambda key: key[0])
    places = {key: place for _, own in tasks for place, key in enumerate(own)}
    order = {key: key[1] for key in keys} if by_seed else places
    seen: dict[tuple[str, str, int], int] = {}
    results = []
    for row, key in zip(rows, keys, strict=True):
        (agent, task), index = row.cell, order[key]
        if (place := (agent, task, index)) in seen:
            what = f"trial {row.trial}" if row.seed is None else f"seed {row.seed}"
            raise InputError(
                f"row {row.line}: {agent} on {task} has {what} already, in row {seen[place]}; number repeated "
                "trials in a column trial"
            )
        seen[place] = row.line
        trial = Trial(agent, task, index, index if row.seed is None else row.seed)
        results.append(replace(row.result, trial=trial))
    return results


def _keys(rows: list[_Row]) -> list[tuple[str, int, int]]:
    """(task, seed, trial); without either, trials are counted."""
    counts: Counter[tuple[str, str]] = Counter()
    keys = []
    for row in rows:
        bare = row.trial is None and row.seed is None
        keys.append((row.cell[1], row.seed or 0, counts[row.cell] if bare else row.trial or 0))
        counts[row.cell] += 1
    return keys


def _config(rows: list[_Row], results: Iterable[TrialResult], options: ImportOptions, path: Path) -> EvalConfig:
    """The score of the file where every scored row has one, success where none has."""
    scored = [row for row in rows if row.result.outcome.scored]
    blank = [row for row in scored if row.result.episode_reward is None]
    if blank and len(blank) < len(scored):
        line = blank[0].line
        raise InputError(f"{path}, row {line}, column score: empty, while other rows have one; give all, or none")
    counts = Counter((r.trial.task, r.trial.agent) for r in results)
    agents, tasks = (dict.fromkeys(row.cell[which] for row in rows) for which in (0, 1))
    n_trials = {task: max(n for (name, _), n in counts.items() if name == task) for task in tasks}
    pairs = {"pairs": rows[0].seed is not None}
    return EvalConfig(
        name=options.name,
        agents=tuple(AgentCfg(name=name, policy=IMPORTED) for name in agents),
        tasks=tuple(TaskCfg(suite=IMPORTED, name=t, n_trials=n_trials[t], options=pairs) for t in tasks),
        n_trials=max(n_trials.values()),
        base_seed=min((row.seed for row in rows if row.seed is not None), default=0),
        output_root=options.output_root,
        record=RecordCfg(level="summary"),
        scoring=ScoringCfg(mode="return" if scored and not blank else "success"),
    )
