"""What a trial asks of its policy, and the generator that its policy draws from.

A trial has one request, which is asked again and again. Everything that belongs to the trial on the policy's side is in
it: the policy's state, the trial's generator, the stage that is next. So a policy can be asked for any mix of trials,
wherever it lives.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from proctor.rollout.tasks import Task
from proctor_host.trials import Trial

FRESH = object()
"""The state of a trial before its first forward."""


class Stream:
    """A trial's generator, made when first used. What a forward drew from it can be taken back, until `keep`."""

    __slots__ = ("_before", "_rng", "_trial")

    def __init__(self, trial: Trial):
        self._trial = trial
        self._rng: np.random.Generator | None = None
        self._before: Any = None

    def take(self) -> np.random.Generator:
        """The generator, to draw from it."""
        if self._rng is None:
            self._rng = self._trial.policy_rng()
        if self._before is None:
            self._before = self._rng.bit_generator.state
        return self._rng

    def keep(self) -> None:
        """What has been drawn stays drawn."""
        self._before = None

    def rewind(self) -> None:
        """Take back what was drawn since the last `keep`."""
        if self._before is not None and self._rng is not None:
            self._rng.bit_generator.state = self._before
            self._before = None

    def fork(self) -> Stream:
        """A stream of its own from before the forward that now draws from this one, which may go on with it."""
        twin = Stream(self._trial)
        state = self._before or (None if self._rng is None else self._rng.bit_generator.state)
        if state is not None:
            twin._rng = self._trial.policy_rng()
            twin._rng.bit_generator.state = state
        return twin


class Request:
    """`columns` hold the observations of many slots, one array per leaf (or a list of objects); this trial's is in
    row `row`. `state` is the policy's state of the trial, `stage` what it is asked for next, `ticket` the owner's at
    the time of asking. `owner` is the slot or seat of the trial."""

    __slots__ = (
        "columns", "hops", "lane", "late", "owner", "row", "since", "stage", "state", "stream", "task", "ticket",
        "tokens", "trial",
    )  # fmt: skip

    def __init__(self, owner: Any, trial: Trial, task: Task, stage: str):
        self.owner, self.trial, self.task, self.stage = owner, trial, task, stage
        self.stream, self.state = Stream(trial), FRESH
        self.hops = self.ticket = self.row = 0
        """`hops` counts the stages since the last action."""
        self.since, self.late = 0.0, False
        """`late`: a forward with this request has taken longer than the limit; it is asked alone, once more."""
        self.columns: Sequence[Any] = ()
        self.lane: Any = None
        """Where it was last asked, if that took a while."""
        self.tokens: Any = None
        """What the trial is told, once it has been asked for."""

    def see(self, columns: Sequence[Any], row: int) -> None:
        """From now on the trial's observation is in this row of these columns."""
        self.columns, self.row = columns, row

    def show(self, observation: Any) -> None:
        """The trial's observation is this one: its leaves, or an object where the task has no layout."""
        self.row = 0
        self.columns = [observation] if self.task.layout is None else [np.asarray(leaf)[None] for leaf in observation]

    def ask(self, ticket: int, since: float) -> Self:
        """With the observation as it is now. The last answer has been used: what it drew is settled."""
        self.ticket, self.since, self.late = ticket, since, False
        self.stream.keep()
        return self

    def again(self) -> Request:
        """The same request once more, though a forward that does not return still holds this one."""
        twin = Request(self.owner, self.trial, self.task, self.stage)
        twin.stream, twin.state, twin.hops = self.stream.fork(), self.state, self.hops
        twin.ticket, twin.columns, twin.row = self.ticket, self.columns, self.row
        twin.since, twin.late, twin.tokens = self.since, self.late, self.tokens
        self.owner.request = twin
        return twin


def guilty(requests: Sequence[Request]) -> bool:
    """Whether a forward that took too long proves something against a trial: it was asked alone, and not for the first
    time. Otherwise these are to be asked again, one by one."""
    proven = len(requests) == 1 and requests[0].late
    for request in requests:
        request.late = True
    return proven


class Rngs(Sequence[np.random.Generator]):
    """The rows' generators. Only the rows that are asked for cost anything; pad rows have one of their own."""

    def __init__(self, block: Sequence[Request], rows: int):
        self._block, self._rows = block, rows
        self._pad: np.random.Generator | None = None

    def __len__(self) -> int:
        return self._rows

    def __getitem__(self, row: Any) -> Any:
        if isinstance(row, slice):
            return [self[i] for i in range(*row.indices(self._rows))]
        if row < 0:
            row += self._rows
        if not 0 <= row < self._rows:
            raise IndexError(row)
        if row < len(self._block):
            return self._block[row].stream.take()
        if self._pad is None:
            self._pad = np.random.default_rng(0)
        return self._pad


SMALL, SEVERAL = 4096, 4
"""Rows of so few bytes are gathered in one operation, where there are more than several."""


def gather(buffers: Sequence[np.ndarray], block: Sequence[Request]) -> None:
    """Fill the buffers, one per leaf, with the observations of a block; rows that are left over repeat the first.
    Neighbours that lie in the same columns are taken together."""
    start, n = 0, len(block)
    while start < n:
        columns, stop = block[start].columns, start + 1
        while stop < n and block[stop].columns is columns:
            stop += 1
        rows = [request.row for request in block[start:stop]]
        for buffer, column in zip(buffers, columns, strict=True):
            if stop - start > SEVERAL and buffer[0].nbytes <= SMALL:
                column.take(rows, 0, buffer[start:stop], "clip")
            else:
                for i, row in enumerate(rows, start):
                    buffer[i] = column[row]
        start = stop
    for buffer in buffers:
        if n < len(buffer):
            buffer[n:] = buffer[0]
