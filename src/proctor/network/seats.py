"""What a server remembers of trials: each has a seat, with its policy's state and its generator.

A seat belongs to a session (the connections of one client) and is given up when the session's last connection goes, or
when more trials are known than may be: then the one that has not asked for longest goes.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict

from proctor.rollout.ask.decide import Decided
from proctor.rollout.ask.requests import Request
from proctor.rollout.tasks import Task
from proctor_host.trials import Trial


class Seat:
    """One trial. `request` is what it asks, as a slot of a run has one; `asked` counts what it has asked for."""

    __slots__ = ("asked", "future", "request", "ticket")

    def __init__(self, trial: Trial, task: Task, stage: str):
        self.request = Request(self, trial, task, stage)
        self.asked = self.ticket = 0
        self.future: asyncio.Future[Decided] | None = None

    @property
    def waits(self) -> bool:
        return self.future is not None and not self.future.done()


class Seats:
    """Seats by (session, trial); `most` is how many there may be."""

    def __init__(self, most: int):
        self._most = most
        self._seats: OrderedDict[tuple[str, Trial], Seat] = OrderedDict()
        self._callers: dict[str, set[int]] = {}

    def __len__(self) -> int:
        return len(self._seats)

    def take(self, session: str, trial: Trial, seat: Seat) -> None:
        """A new trial, or one that begins again."""
        self._seats.pop((session, trial), None)
        idle = (key for key, seat in list(self._seats.items()) if not seat.waits)
        while len(self._seats) >= self._most and (longest := next(idle, None)) is not None:
            del self._seats[longest]
        self._seats[session, trial] = seat

    def find(self, session: str, trial: Trial) -> Seat | None:
        """The seat of a trial that has asked before."""
        seat = self._seats.get((session, trial))
        if seat is not None:
            self._seats.move_to_end((session, trial))
        return seat

    def leave(self, session: str, trial: Trial) -> None:
        """The trial has ended."""
        self._seats.pop((session, trial), None)

    def called(self, session: str, caller: int) -> None:
        """A connection speaks for a session."""
        self._callers.setdefault(session, set()).add(caller)

    def hung_up(self, caller: int) -> None:
        """A connection is gone; sessions that have no other end."""
        for session in [s for s, callers in self._callers.items() if caller in callers]:
            self._callers[session].discard(caller)
            if not self._callers[session]:
                del self._callers[session]
                for key in [key for key in self._seats if key[0] == session]:
                    del self._seats[key]
