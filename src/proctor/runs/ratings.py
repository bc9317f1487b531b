"""Trials that several raters judged: their votes become one result, and every vote is kept in the ledger."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from proctor.errors import InputError
from proctor.record.ledger import Ledger
from proctor.runs.outcomes.rows import Row
from proctor.verdict.raters import KEY, Rating
from proctor_host.episode import Outcome
from proctor_host.result import TrialResult

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
