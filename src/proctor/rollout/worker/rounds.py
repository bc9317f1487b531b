"""Slots that are stepped one after the other, and only then looked at.

A simulator drives all else out of the processor's caches: what follows a step then takes several times as long as it
would by itself. So the environments of a round have the processor to themselves, and what they gave is digested in one
go. Where the policy lives in the worker, everyone who can goes along, as all are asked together anyway; where the
engine is asked, half of the slots at most: the others are stepped while it answers. Worlds that write rows of numbers
(`SheetEnv`) are looked at as columns.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from proctor.record.episode import Outcome
from proctor.record.sheet import HEAD
from proctor.rollout.worker.faults import BREAKS, explain
from proctor.rollout.worker.pulse import STEPPING
from proctor.rollout.worker.trial import Job, TaskRuntime
from proctor.suites.protocol import Env, SheetEnv, Step

if TYPE_CHECKING:
    from proctor.rollout.worker.host import Host

ROUND_S, ASKED_ROUND_S = 0.02, 0.005
"""How long a round may last: commands are not looked at meanwhile, nor is the engine asked."""


class Turn(NamedTuple):
    """A slot's step within a round: what it gave, or what it raised; None: it is in a row of its task's page."""

    slot: int
    job: Job
    given: Step | BaseException | None
    elapsed: float
    row: int = 0


class Page:
    """The rows of one task in a round."""

    def __init__(self, runtime: TaskRuntime, rows: int):
        assert runtime.sheet is not None
        self.runtime, self.rows, self.count = runtime, runtime.sheet.rows(rows), 0
        self.heads: list[list[float]] = []
        self.leaves: list[np.ndarray] = []

    def look(self) -> None:
        """Take heads and observations of all rows."""
        sheet, layout, rows = self.runtime.sheet, self.runtime.layout, self.rows[: self.count]
        assert sheet is not None
        assert layout is not None
        self.heads = rows[:, :HEAD].tolist()
        self.leaves = sheet.leaves(rows, [leaf.path for leaf in layout.leaves])


class Rounds:
    """Of one host."""

    def __init__(self, host: Host):
        self._host = host

    def go(self, first: int, asked: bool) -> None:
        """Step a slot, and those behind it that go along, as long as a round may last. `asked`: the engine is, for
        their actions."""
        host, turns, pages = self._host, list[Turn](), dict[TaskRuntime, Page]()
        until = time.monotonic() + (ASKED_ROUND_S if asked else ROUND_S)
        left = max(len(host.places) // 2, 1) if asked else len(host.places)
        slot: int | None = first
        while slot is not None:
            place, left = host.places[slot], left - 1
            assert place.job is not None
            assert place.env is not None
            turn = self._step(slot, place.job, place.env, pages)
            if turn is None:
                host.invalid(slot, place.job)
            else:
                turns.append(turn)
            slot = self._next(asked) if left and time.monotonic() < until else None
        host.made += len(turns)
        for page in pages.values():
            page.look()
        for turn in turns:
            self._digest(turn, pages)
        if not (asked or host.ready):
            host.residents.answer()

    def _next(self, asked: bool) -> int | None:
        ready, places = self._host.ready, self._host.places
        if not ready or places[ready[0]].start is not None:
            return None
        job = places[ready[0]].job
        fits = job is not None and job.goes_along and (job.wish is None) == asked
        return ready.popleft() if fits else None

    def _step(self, slot: int, job: Job, env: Env, pages: dict[TaskRuntime, Page]) -> Turn | None:
        """None: its action is not valid."""
        action, runtime, pulse, row = job.next_action(), job.runtime, self._host.pulse, 0
        if action is None:
            return None
        given: Step | BaseException | None = None
        pulse.begin(STEPPING, slot)
        try:
            if runtime.sheet is None:
                given = env.step(action)
            else:
                page = pages.get(runtime)
                if page is None:
                    page = pages[runtime] = Page(runtime, len(self._host.places))
                row = page.count
                assert isinstance(env, SheetEnv)
                env.write(action, page.rows[row])
                page.count += 1
        except BREAKS as problem:
            given = problem
            if runtime in pages:
                pages[runtime].rows[row] = 0.0  # somebody else's next
        return Turn(slot, job, given, pulse.end(), row)

    def _digest(self, turn: Turn, pages: dict[TaskRuntime, Page]) -> None:
        slot, job, given, elapsed, row = turn
        try:
            if given is None:
                page = pages[job.runtime]
                job.took_row(page.rows[row], page.heads[row], [leaf[row] for leaf in page.leaves])
            elif isinstance(given, BaseException):
                raise given
            else:
                job.took_step(given)
        except BREAKS as problem:
            self._host.fault(slot, Outcome.ENV_ERROR, explain(problem))
            return
        if self._host.in_time(slot, job, elapsed):
            self._host.go_on(slot, job)
