"""From the cells of outcomes to rows: every problem is found and named by row and column."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from proctor.cells import read as read_cell
from proctor.config.models import LARGEST_SEED
from proctor.errors import InputError
from proctor_host.episode import Outcome
from proctor_host.result import TrialResult
from proctor_host.trials import Trial

KNOWN = (
    "agent", "task", "trial", "seed", "success", "score", "steps", "max_steps", "outcome", "case", "rater", "blind",
)  # fmt: skip
WORDS = ("agent", "task", "success", "outcome", "case", "rater", "blind")
"""Columns of words."""
BLANK = ("nan", "none", "na")
"""What says that there is no number, in any case."""
YES, NO = {"1", "true", "yes", "success", "1.0"}, {"0", "false", "no", "failure", "fail", "0.0"}


@dataclass(frozen=True)
class Raw:
    """A row as a file has it: texts by the names of columns. `where` says which row it is, `error` what broke it."""

    where: str
    cells: dict[str, Any]
    error: str | None = None


@dataclass(frozen=True)
class Outcomes:
    """What a file says. `kind` is that of the file; `notes` say what it does not tell, and how it was understood."""

    kind: str
    raws: list[Raw]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Row:
    """A trial as the file has it, or as one of its raters saw it. `result` has the index 0 until all rows are known;
    its reward is the score. `blind`: whether the rater did not know the agent; None where that is not said."""

    where: str
    trial: int | None
    seed: int | None
    result: TrialResult
    rater: str | None = None
    blind: bool | None = None

    @property
    def cell(self) -> tuple[str, str]:
        return self.result.trial.agent, self.result.trial.task


def read_rows(path: Path, raws: Iterable[Raw], task: str) -> list[Row]:
    """Every row of a file; `task` is that of rows that name none. Raises InputError with the problems of all rows."""
    rows, problems = [], []
    for raw in raws:
        cells = _Cells(raw)
        row = _row(cells, task)
        problems += cells.problems
        rows += [] if row is None else [row]
    refuse(path, problems)
    return rows


def blanks(raws: Iterable[Raw]) -> tuple[str, ...]:
    """A sentence for each column with cells that say that they are no number."""
    found: Counter[str] = Counter()
    for raw in raws:
        told = {name: read_cell(value.strip()) for name, value in raw.cells.items() if isinstance(value, str)}
        found.update(name for name, value in told.items() if value.lower() in BLANK and name not in WORDS)
    return tuple(
        f"the column {name} has {count} {'cell that says' if count == 1 else 'cells that say'} nan, none or na; they "
        "are left blank, and are no part of its mean"
        for name, count in found.items()
    )


def numbers(values: Mapping[str, Any]) -> dict[str, str]:
    """The numbers among somebody's values as cells. One that is called as a column with another meaning gets another
    name."""
    found = {key: value for key, value in values.items() if isinstance(value, bool | int | float)}
    return {f"result_{key}" if key in KNOWN else key: text(value) or "" for key, value in found.items()}


def text(value: Any) -> str | None:
    """A value of JSON as the text of a cell."""
    if value is None or isinstance(value, str):
        return value
    return str(int(value)) if isinstance(value, bool) else str(value)


def listed(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise InputError(f"{where}: found {said(value)}; expected a list")
    return value


def mapped(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InputError(f"{where}: found {said(value)}; expected keys with values")
    return value


def said(value: Any) -> str:
    """A value of JSON in a sentence."""
    if isinstance(value, Mapping | list):
        return "a list" if isinstance(value, list) else "keys with values"
    return "nothing" if value is None else repr(value)[:40]


def refuse(path: Path, problems: Sequence[str]) -> None:
    """Raise InputError where there are problems, with all of them."""
    if len(problems) == 1:
        raise InputError(f"{path}, {problems[0]}")
    if problems:
        raise InputError(f"{path}: {len(problems)} problems\n  " + "\n  ".join(problems))


@dataclass(frozen=True)
class _Cells:
    """The cells of a row, and what is wrong with them."""

    raw: Raw
    problems: list[str] = field(default_factory=list)

    def text(self, name: str) -> str | None:
        value = self.raw.cells.get(name)
        return read_cell(value.strip()) or None if isinstance(value, str) else None

    def bad(self, name: str, expected: str) -> None:
        found = self.text(name)
        shown = "nothing" if found is None else f'"{found}"'
        self.problems.append(f"{self.raw.where}, column {name}: found {shown}, expected {expected}")

    def whole(self, name: str, least: int = 0) -> int | None:
        value = self.number(name, "a whole number")
        if value is None:
            return None
        if value != int(value) or value < least:
            return self.bad(name, f"a whole number from {least} on")
        if value > LARGEST_SEED:
            return self.bad(name, f"at most {LARGEST_SEED:,}")
        return int(value)

    def number(self, name: str, expected: str = "a number") -> float | None:
        found = self.text(name)
        if found is None or found.lower() in BLANK:
            return None
        try:
            value = float(found)
        except ValueError:
            return self.bad(name, expected)
        return value if math.isfinite(value) else self.bad(name, "a finite number, or nothing")


def _row(cells: _Cells, task: str) -> Row | None:
    """None where something is wrong with the row."""
    raw = cells.raw.cells
    if None in raw:
        cells.problems.append(f"{cells.raw.where}: more cells than the header has columns")
        return None
    agent = cells.text("agent")
    if agent is None:
        cells.bad("agent", "a name")
    outcome, steps, seed = _outcome(cells), cells.whole("steps"), cells.whole("seed")
    score, max_steps, trial = cells.number("score"), cells.whole("max_steps", least=1), cells.whole("trial")
    metrics = {name: cells.number(name) for name in raw if name not in KNOWN and name}
    blind = _yes_or_no(cells, "blind", "yes or no, or nothing")
    if agent is None or outcome is None or cells.problems:
        return None
    won = outcome is Outcome.SUCCESS
    error = cells.raw.error or f"{outcome.value}, as imported"
    result = TrialResult(
        trial=Trial(agent, cells.text("task") or task, 0, seed or 0),
        outcome=outcome,
        success=None if outcome is Outcome.DONE else won,
        steps_total=steps,
        steps_to_success=steps if won else None,
        first_success=steps if won else None,
        episode_reward=score,
        max_steps=max_steps,
        metrics=metrics,
        error=None if outcome.scored and not outcome.broken_by_policy else error,
        case=cells.text("case"),
    )
    return Row(cells.raw.where, trial, seed, result, cells.text("rater"), blind)


def _outcome(cells: _Cells) -> Outcome | None:
    """By `outcome` where the file has it, else by `success`; the two must agree. None where it cannot be told."""
    before = len(cells.problems)
    named, won = cells.text("outcome"), _yes_or_no(cells, "success", "1 or 0, true or false, yes or no")
    if len(cells.problems) > before:
        return None
    if named is None:
        if won is None:
            return cells.bad("success", "1 or 0 (a trial that does not count needs an outcome: env_error, timeout)")
        return Outcome.SUCCESS if won else Outcome.FAILURE
    try:
        outcome = Outcome(named.lower())
    except ValueError:
        return cells.bad("outcome", f"one of {', '.join(o.value for o in Outcome)}")
    if won is not None and outcome.scored and won != (outcome is Outcome.SUCCESS):
        return cells.bad("success", f"{int(outcome is Outcome.SUCCESS)}, since the outcome is {outcome.value}")
    return outcome


def _yes_or_no(cells: _Cells, name: str, expected: str) -> bool | None:
    found = (cells.text(name) or "").lower()
    if not found:
        return None
    return found in YES if found in YES | NO else cells.bad(name, expected)
