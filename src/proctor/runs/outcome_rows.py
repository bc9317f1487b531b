"""Reading outcomes from a CSV file: rows and cells, with errors that name row and column."""

from __future__ import annotations

import csv
import io
import math
from collections import Counter
from dataclasses import dataclass
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
YES, NO = {"1", "true", "yes", "success", "1.0"}, {"0", "false", "no", "failure", "fail", "0.0"}


@dataclass(frozen=True)
class Row:
    """A trial as the file has it, or as one of its raters saw it. `result` has the index 0 until all rows are known;
    its reward is the score. `blind`: whether the rater did not know the agent; None where that is not said."""

    line: int
    trial: int | None
    seed: int | None
    result: TrialResult
    rater: str | None = None
    blind: bool | None = None

    @property
    def cell(self) -> tuple[str, str]:
        return self.result.trial.agent, self.result.trial.task


def read_rows(path: Path, task: str) -> list[Row]:
    """Every row of the file; `task` is that of rows that name none."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read: {error}") from None
    first = text.partition("\n")[0]
    delimiter = max(",;\t", key=first.count)
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        names = [read_cell(name.strip()) for name in reader.fieldnames or []]
        reader.fieldnames = names
        _check_header(path, names)
        rows = [_row(path, reader.line_num, raw, task) for raw in reader]
    except csv.Error as error:
        raise InputError(f"{path}, row {reader.line_num + 1}: no row of a table: {error}") from None
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
        return read_cell(value.strip()) or None if isinstance(value, str) else None

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
        if value > LARGEST_SEED:
            raise self.bad(name, f"at most {LARGEST_SEED:,}")
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


def _row(path: Path, line: int, raw: dict[str, Any], task: str) -> Row:
    cells = _Cells(path, line, raw)
    if None in raw:
        raise InputError(f"{path}, row {line}: more cells than the header has columns")
    agent = cells.text("agent")
    if agent is None:
        raise cells.bad("agent", "a name")
    outcome, steps, seed = _outcome(cells), cells.whole("steps"), cells.whole("seed")
    won = outcome is Outcome.SUCCESS
    result = TrialResult(
        trial=Trial(agent, cells.text("task") or task, 0, seed or 0),
        outcome=outcome,
        success=None if outcome is Outcome.DONE else won,
        steps_total=steps,
        steps_to_success=steps if won else None,
        first_success=steps if won else None,
        episode_reward=cells.number("score"),
        max_steps=cells.whole("max_steps", least=1),
        metrics={name: cells.number(name) for name in raw if name not in KNOWN and name},
        error=None if outcome.scored and not outcome.broken_by_policy else f"{outcome.value}, as imported",
        case=cells.text("case"),
    )
    blind = _yes_or_no(cells, "blind", "yes or no, or nothing")
    return Row(line, cells.whole("trial"), seed, result, cells.text("rater"), blind)


def _outcome(cells: _Cells) -> Outcome:
    """By `outcome` where the file has it, else by `success`; the two must agree."""
    named, won = cells.text("outcome"), _yes_or_no(cells, "success", "1 or 0, true or false, yes or no")
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


def _yes_or_no(cells: _Cells, name: str, expected: str) -> bool | None:
    found = (cells.text(name) or "").lower()
    if not found:
        return None
    if found in YES | NO:
        return found in YES
    raise cells.bad(name, expected)
