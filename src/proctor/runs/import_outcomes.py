"""Outcomes from elsewhere, trials on a real robot for instance, as a run folder that reports and comparisons read.

A CSV file with a row per trial, or a file of another evaluator (`proctor.runs.outcomes`). `agent` and `success` must be
there; `task`, `trial`, `seed`, `score`, `steps`, `max_steps`, `outcome`, `case`, `rater` and `blind` may be; every
other column with numbers is kept as a metric. With a `seed` (whatever numbers initial conditions), trials of one seed
are paired between agents; without, they are independent. Rows of one trial by different raters are votes on it:
they become one result, and every vote is kept in the ledger.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from proctor.config.models import AgentCfg, EvalConfig, RecordCfg, ScoringCfg, TaskCfg
from proctor.errors import InputError
from proctor.record.ledger import Ledger
from proctor.record.rundir import RunDir
from proctor.report import Report
from proctor.runs.noting import note_protocol
from proctor.runs.outcomes.reading import Reading, read_outcomes
from proctor.runs.outcomes.rows import Row, blanks, read_rows, refuse
from proctor.runs.report import changed, write_report
from proctor.verdict.raters import KEY, Rating
from proctor.verdict.trials import IMPORTED
from proctor_host.episode import Outcome
from proctor_host.result import TrialResult
from proctor_host.trials import Trial

MAY_CHANGE = ("report", "declare", "agents.*.group")
"""What overrides may change of an imported run."""
READING = Reading()


@dataclass(frozen=True)
class ImportOptions:
    name: str
    output_root: str = "results/eval_runs"
    task: str = "task"
    """The task of rows that name none."""
    overrides: tuple[str, ...] = ()
    """Changes of the run's config (`key=value`), of the keys in MAY_CHANGE."""
    reading: Reading = READING


@dataclass(frozen=True)
class Imported:
    """A new run folder and its report. `notes` say what the file does not tell, and how it was understood."""

    run: RunDir
    report: Report
    notes: tuple[str, ...]


def import_outcomes(path: str | Path, options: ImportOptions) -> Imported:
    """A new run folder with the outcomes of a file. Errors name every row and column that is wrong."""
    found = read_outcomes(Path(path), options.reading)
    found = replace(found, notes=(*found.notes, *blanks(found.raws)))
    rows = _numbered(Path(path), read_rows(Path(path), found.raws, options.task))
    votes: dict[Trial, list[Row]] = {}
    for row in rows:
        votes.setdefault(row.result.trial, []).append(row)
    results = [settled(own) for own in votes.values()]
    cfg = changed(_config(rows, results, options, Path(path)), options.overrides, MAY_CHANGE, "proctor import")
    _check_declared(cfg, results)
    run = RunDir.create(cfg, datetime.now())
    agents, tasks = [a.name for a in cfg.agents], [t.name for t in cfg.tasks]
    with run.locked(), run.ledger() as ledger:
        ledger.set_meta("shard", "1/1")
        ledger.set_meta("imported_from", str(path))
        ledger.set_meta("imported_as", {"kind": found.kind, "notes": found.notes})
        note_protocol(ledger, cfg)
        ledger.add((r.trial, agents.index(r.trial.agent), tasks.index(r.trial.task)) for r in results)
        ledger.finish(results)
        keep_ratings(ledger, rows)
    return Imported(run, write_report(run), found.notes)


def _check_declared(cfg: EvalConfig, results: Iterable[TrialResult]) -> None:
    known = {"success", "score", *(name for result in results for name in result.metrics)}
    if cfg.declare is not None and cfg.declare.primary not in known:
        found = f'declare.primary: found "{cfg.declare.primary}"'
        raise InputError(f"{found}; expected success, score or a column with numbers: {', '.join(sorted(known))}")


def _numbered(path: Path, rows: list[Row]) -> list[Row]:
    """Rows whose trials have an index: the seed, or where trials are numbered as well, the place of both among those of
    the task. It is the same for every agent."""
    seeded = [row for row in rows if row.seed is not None]
    if seeded and len(seeded) < len(rows):
        empty = "column seed: empty, while other rows have one; give all rows a seed, or none"
        refuse(path, [f"{row.where}, {empty}" for row in rows if row.seed is None])
    keys = _keys(rows)
    by_seed = bool(seeded) and all(row.trial is None for row in rows)
    tasks = itertools.groupby(sorted(set(keys)), key=lambda key: key[0])
    places = {key: place for _, own in tasks for place, key in enumerate(own)}
    order = {key: key[1] for key in keys} if by_seed else places
    seen: dict[Trial, dict[str | None, str]] = {}
    numbered, problems = [], []
    for row, key in zip(rows, keys, strict=True):
        trial = Trial(*row.cell, order[key], order[key] if row.seed is None else row.seed)
        problems += _repeated(row, trial, seen.setdefault(trial, {}))
        seen[trial].setdefault(row.rater, row.where)
        numbered.append(replace(row, result=replace(row.result, trial=trial)))
    refuse(path, problems)
    return numbered


def _repeated(row: Row, trial: Trial, others: dict[str | None, str]) -> list[str]:
    """What is wrong where this trial is there already, unless all of its rows are of different raters. `others` has the
    rows of the trial by rater."""
    if not others or (row.rater is not None and None not in others and row.rater not in others):
        return []
    first = others.get(row.rater) or next(iter(others.values()))
    what = f"trial {row.trial}" if row.seed is None else f"seed {row.seed}"
    by = "" if row.rater is None or row.rater not in others else f" by the rater {row.rater}"
    return [
        f"{row.where}: {trial.agent} on {trial.task} has {what}{by} already, in {first}; number repeated trials in a "
        "column trial, and name the rater in every row of a trial that several judged"
    ]


def _keys(rows: list[Row]) -> list[tuple[str, int, int]]:
    """(task, seed, trial); without either, trials are counted."""
    counts: Counter[tuple[str, str]] = Counter()
    keys = []
    for row in rows:
        bare = row.trial is None and row.seed is None
        keys.append((row.cell[1], row.seed or 0, counts[row.cell] if bare else row.trial or 0))
        counts[row.cell] += 1
    return keys


def _config(rows: list[Row], results: Iterable[TrialResult], options: ImportOptions, path: Path) -> EvalConfig:
    """The score of the file where every scored row has one, success where none has."""
    scored = [row for row in rows if row.result.outcome.scored]
    blank = [row for row in scored if row.result.episode_reward is None]
    if blank and len(blank) < len(scored):
        empty = "column score: empty, while other rows have one; give all, or none"
        refuse(path, [f"{row.where}, {empty}" for row in blank])
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


FACTS = {"steps": "steps_total", "max_steps": "max_steps", "case": "case"}
"""Columns that are facts of a trial, not judgements: raters cannot differ in them."""


def settled(rows: Sequence[Row]) -> TrialResult:
    """The result of one trial. It is unscored where more than half of its raters say that it does not count; else it
    is a success where more than half of the others saw one, so that a tie is a failure. Scores and metrics are means
    over the raters that count."""
    first = rows[0].result
    if len(rows) == 1:
        return first
    facts = {field: _agreed(rows, column, field) for column, field in FACTS.items()}
    counting = [row.result for row in rows if row.result.outcome.scored]
    if 2 * len(counting) < len(rows) or not counting:
        spoiled = [row.result for row in rows if not row.result.outcome.scored]
        return replace(spoiled[0], **facts)
    won = 2 * sum(bool(result.success) for result in counting) > len(counting)
    outcome = Outcome.SUCCESS if won else _commonest(counting)
    steps = facts["steps_total"] if won else None
    scores = [result.episode_reward for result in counting]
    return replace(
        first,
        **facts,
        outcome=outcome,
        success=None if outcome is Outcome.DONE else won,
        steps_to_success=steps,
        first_success=steps,
        episode_reward=None if None in scores else _mean(scores),
        metrics={name: _mean(result.metrics[name] for result in counting) for name in first.metrics},
        error=f"{outcome.value}, as imported" if outcome.broken_by_policy else None,
    )


def _commonest(results: Sequence[TrialResult]) -> Outcome:
    """The outcome that most of those give who saw no success; the first of equally many."""
    return Counter(result.outcome for result in results if not result.success).most_common(1)[0][0]


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


def _agreed(rows: Sequence[Row], column: str, field: str) -> Any:
    """What the raters say of a fact, where any of them does."""
    found: dict[Any, str] = {}
    for row in rows:
        if (value := getattr(row.result, field)) is not None:
            found.setdefault(value, row.where)
    if len(found) > 1:
        (a, first), (b, second) = list(found.items())[:2]
        raise InputError(
            f"{second}, column {column}: found {b}, while {first} has {a} for the same trial; raters may "
            "differ in what they judge, and a trial has one number of steps and one case"
        )
    return next(iter(found), None)


def keep_ratings(ledger: Ledger, rows: Sequence[Row]) -> None:
    """Keep who judged what, where the file says anything of it."""
    if any(row.rater is not None or row.blind is not None for row in rows):
        ledger.set_meta(KEY, [asdict(_rating(row)) for row in rows])


def _rating(row: Row) -> Rating:
    result = row.result
    success = result.success if result.outcome.scored else None
    return Rating(result.trial.agent, result.trial.task, result.trial.index, row.rater, row.blind, success)
