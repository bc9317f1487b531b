"""What a run finds out about the rows of its policies while it asks them.

A trial is the same whoever shares its forwards only if a row's answer depends neither on its place in the batch nor on
the rows beside it. So some forwards of every stage are asked again, on copies: the same rows once more, in another
order, one of them in every place, and one of them alone. What is found is recorded, and said by the run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass

from proctor.errors import BREAKS
from proctor.policies.protocol import AnyPolicy, Batch, Policy
from proctor.policies.rows import Answer, answers, pick_rows

DUE = (1, 20)
"""Which forwards of a stage are asked again: the first, and one in the middle of things."""


@dataclass(frozen=True)
class RowFindings:
    """In how many of the forwards that were asked again something mattered that must not (`again`: the time of asking),
    or showed: `alone`, that a row by itself rounds otherwise; `alone_unknown`, that the policy takes no single row;
    `memory`, that a policy which is asked row by row, so that no row knows another, answers otherwise all the same."""

    tried: int = 0
    again: int = 0
    company: int = 0
    place: int = 0
    alone: int = 0
    alone_unknown: int = 0
    memory: int = 0

    def __add__(self, other: RowFindings) -> RowFindings:
        return RowFindings(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))


def examine(policy: AnyPolicy, batch: Batch, stage: str, begin: Callable[[], None]) -> RowFindings:
    """Ask again for a batch that has been answered. `begin` is called before each forward. A policy that raises now has
    shown nothing. The batch is not changed and its generators do not advance."""

    def asked(rows: Sequence[int]) -> list[Answer]:
        begin()
        return answers(policy, pick_rows(batch, rows), stage)

    rows = range(len(batch))
    apart = isinstance(policy, Policy) and policy.row_by_row
    try:
        expected = asked(rows)
        if apart:
            return RowFindings(tried=1, memory=int(_remembers(asked, expected)))
        if asked(rows) != expected:
            return RowFindings(tried=1, again=1)
        alone = _alone(asked, expected)
        turned, repeated = asked(rows[::-1])[::-1], asked([0] * len(rows))
    except BREAKS:
        return RowFindings()
    company = repeated[0] != expected[0]
    place = any(answer != repeated[0] for answer in repeated) or (turned != expected and not company)
    return RowFindings(1, 0, int(company), int(place), int(alone is True), int(alone is None))


def _remembers(asked: Callable[[Sequence[int]], list[Answer]], expected: list[Answer]) -> bool:
    """Whether it matters to a row which were asked for before it."""
    rows = range(len(expected))
    return asked(rows) != expected or asked(rows[::-1])[::-1] != expected or asked([0]) != expected[:1]


def _alone(asked: Callable[[Sequence[int]], list[Answer]], expected: list[Answer]) -> bool | None:
    """Whether the first row by itself gets another answer; None where the policy cannot be asked for one row."""
    try:
        return asked([0]) != expected[:1]
    except BREAKS:
        return None
