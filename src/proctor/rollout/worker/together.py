"""Worlds that are stepped, asked and recorded as columns: one array for all of them, not one object for each.

A batch environment that speaks in columns, with policies that live in the worker and answer one action a row, needs no
world to be looked at by itself until something happens to it. What was recorded meanwhile lies in pages, a page a step,
and is handed to a trial's own record once that trial is looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from proctor.suites.protocol import Columns, Step

if TYPE_CHECKING:
    from proctor.plan.trial import Trial
    from proctor.rollout.ask.runner import Chunks
    from proctor.rollout.worker.residents import Resident, Wish
    from proctor.rollout.worker.trial import Job

Rows = slice | np.ndarray


class Part(NamedTuple):
    """The trials of one policy: which rows of the lineup they are."""

    resident: Resident
    rows: Rows
    wishes: list[Wish]
    trials: list[Trial]


@dataclass(frozen=True)
class Lineup:
    """The running worlds, in order, until one of them ends or another begins."""

    slots: list[int]
    rows: Rows
    """Of all worlds."""
    jobs: list[Job]
    at: dict[int, int]
    """Slot -> row of the lineup."""
    parts: list[Part]


def line_up(jobs: dict[int, Job], worlds: int) -> Lineup:
    slots = sorted(jobs)
    everyone = len(slots) == worlds
    by_policy: dict[int, list[int]] = {}
    for row, slot in enumerate(slots):
        by_policy.setdefault(id(jobs[slot].wish.resident), []).append(row)
    parts = []
    for rows in by_policy.values():
        wishes = [jobs[slots[row]].wish for row in rows]
        where = slice(None) if len(by_policy) == 1 else np.array(rows)
        parts.append(Part(wishes[0].resident, where, wishes, [wish.trial for wish in wishes]))
    return Lineup(
        slots,
        slice(None) if everyone else np.array(slots),
        [jobs[slot] for slot in slots],
        {slot: row for row, slot in enumerate(slots)},
        parts,
    )


def joined(lineup: Lineup, answers: list[Chunks]) -> np.ndarray | None:
    """One action for each row; None unless all are valid, and one step long."""
    if not all([chunks.valid and chunks.actions.shape[1] == 1 for chunks in answers]):
        return None
    first = answers[0].actions[:, 0]
    if len(answers) == 1:
        return first
    actions = np.empty((len(lineup.slots), *first.shape[1:]), first.dtype)
    for part, chunks in zip(lineup.parts, answers, strict=True):
        actions[part.rows] = chunks.actions[:, 0]
    return actions


class Page(NamedTuple):
    """One step of a lineup; or, with a further axis in front, several."""

    actions: np.ndarray
    reward: np.ndarray
    success: np.ndarray
    signals: dict[str, np.ndarray]
    leaves: list[np.ndarray]
    """Observations, where they are recorded."""


@dataclass(frozen=True)
class Block:
    """Pages of one lineup, put together; `first` is the number of the first one."""

    first: int
    steps: int
    at: dict[int, int]
    page: Page


class Together:
    """The latest observations of all worlds, and pages that are not yet in their trials' records."""

    def __init__(self, worlds: int):
        self.leaves: list[np.ndarray] = []
        self.steps = np.zeros(worlds, np.int64)
        """That each world's trial has made."""
        self._worlds = worlds
        self._count = 0
        self._open: list[Page] = []
        self._kind: tuple[dict[int, int], dict[str, tuple[int, ...]]] = ({}, {})
        """Of the open pages: whose they are, and which signals they have."""
        self._blocks: list[Block] = []
        self._since: dict[int, int] = {}
        """By slot: the first page that is not in its trial's record."""

    def see(self, slots: Sequence[int], observations: Sequence[Sequence[np.ndarray]]) -> None:
        """Take in the observations of some worlds, each with its leaves."""
        first = observations[0]
        fits = len(self.leaves) == len(first) and all(
            leaf.shape[1:] == one.shape for leaf, one in zip(self.leaves, first, strict=True)
        )
        self.leaves = [
            self.leaves[j].copy() if fits else np.zeros((self._worlds, *one.shape), one.dtype)
            for j, one in enumerate(first)
        ]
        for slot, leaves in zip(slots, observations, strict=True):
            for column, leaf in zip(self.leaves, leaves, strict=True):
                column[slot] = leaf

    def seen(self, rows: Rows, columns: list[np.ndarray]) -> None:
        """Take in the observations of a lineup."""
        if isinstance(rows, slice):
            self.leaves = columns
            return
        self.leaves = [leaf.copy() for leaf in self.leaves]
        for leaf, column in zip(self.leaves, columns, strict=True):
            leaf[rows] = column

    def observation(self, slot: int) -> list[np.ndarray]:
        return [leaf[slot] for leaf in self.leaves]

    def begin(self, slot: int, steps: int) -> None:
        """A trial with so many steps in its record goes on here."""
        self._since[slot], self.steps[slot] = self._count, steps

    def write(self, lineup: Lineup, page: Page) -> None:
        """Record a step of everyone."""
        kind = lineup.at, {name: array.shape for name, array in page.signals.items()}
        if self._open and (kind[0] is not self._kind[0] or kind[1] != self._kind[1]):
            self._close()
        self._kind = kind
        self._open.append(page)
        self._count += 1

    def hand_over(self, slot: int, job: Job) -> None:
        """Put what is in pages into the trial's own record."""
        since = self._since.get(slot, self._count)
        if since < self._count:
            self._close()
            for block in self._blocks:
                skip = max(since - block.first, 0)
                if slot in block.at and skip < block.steps:
                    self._copy(block, (slice(skip, None), block.at[slot]), job)
        self._since[slot] = self._count

    def forget(self, slot: int) -> None:
        """A trial is over."""
        self._since.pop(slot, None)
        oldest = min(self._since.values(), default=self._count)
        self._blocks = [block for block in self._blocks if block.first + block.steps > oldest]

    def _close(self) -> None:
        if self._open:
            pages, self._open = self._open, []
            page = Page(
                np.stack([one.actions for one in pages]),
                np.stack([one.reward for one in pages]),
                np.stack([one.success for one in pages]),
                {name: np.stack([one.signals[name] for one in pages]) for name in pages[0].signals},
                [np.stack([one.leaves[j] for one in pages]) for j in range(len(pages[0].leaves))],
            )
            self._blocks.append(Block(self._count - len(pages), len(pages), self._kind[0], page))

    @staticmethod
    def _copy(block: Block, where: tuple[slice, int], job: Job) -> None:
        page = block.page
        signals = {name: array[where].copy() for name, array in page.signals.items()}
        observed = [leaf[where].copy() for leaf in page.leaves]
        job.builder.extend(page.actions[where].copy(), page.reward[where], page.success[where], signals, observed)


def check(columns: Columns, rows: int) -> None:
    """Raises ValueError where the environment broke its contract."""
    flat = {name: getattr(columns, name) for name in ("reward", "terminated", "truncated", "success")}
    for name, array in {**columns.signals, **flat}.items():
        if type(array) is not np.ndarray or array.shape[:1] != (rows,) or (name in flat and array.ndim != 1):
            found = array.shape if type(array) is np.ndarray else type(array).__name__
            raise ValueError(
                f"step_columns gave {name} {found}; expected an array with {rows} rows, one for each world"
            )


def step_of(columns: Columns, row: int) -> Step:
    """What one world has of a step."""
    observation: Any = columns.observation
    return Step(
        {key: array[row] for key, array in observation.items()} if isinstance(observation, dict) else observation[row],
        float(columns.reward[row]),
        bool(columns.terminated[row]),
        bool(columns.truncated[row]),
        bool(columns.success[row]),
        {name: array[row] for name, array in columns.signals.items()},
    )
