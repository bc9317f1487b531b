"""Trials that have ended, on their way to the disk while the worker goes on stepping: on threads of their own.

A trial's record can be cut out once the rounds that it lies in have come to the host. It is made into an episode,
measured and written by the `Recorder`, as everywhere, and reported only then.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import Callable

import numpy as np

from proctor_host.blocks import Blocks
from proctor_host.cfg import RecordCfg
from proctor_host.episode import Outcome
from proctor_host.errors import BREAKS, explain
from proctor_host.kit import Fetched
from proctor_host.messages import FREED, Event, Fault
from proctor_host.trial import EndedTrial, Ending, RunningTrial

TURN_S = 5e-5
"""How long a thread that writes records may keep the interpreter while the stepping thread wants it. Every call into a
library of arrays gives the interpreter away and wants it back; Python's own 5 ms could be lost at each of them."""


def threads() -> int:
    """How many records are written at once."""
    return max(1, min(8, (os.cpu_count() or 1) - 2))


class Sight:
    """An observation on its way to the host: this row of these leaves."""

    __slots__ = ("fetched", "row")

    def __init__(self, fetched: Fetched, row: int):
        self.fetched, self.row = fetched, row

    def leaves(self) -> list[np.ndarray]:
        return [leaf[self.row] for leaf in self.fetched.get()]

    def bytes(self) -> bytes:
        return b"".join([leaf.tobytes() for leaf in self.leaves()])


class Leaving:
    """A trial that has ended in a world: its steps are in the rounds from `first` to `stop`, `seen_at` is the round
    after which its policy saw it first, -1 where that is `begun`, the observation that it began with."""

    def __init__(self, trial: RunningTrial, blocks: Blocks | None, world: int, rounds: tuple[int, int]):
        self.trial, self.blocks, self.world = trial, blocks, world
        self.first, self.stop = rounds
        self.seen_at = -1
        self.begun: Sight | None = None
        self.last: Sight | None = None
        self.seconds = 0.0
        self.outcome: Outcome | None = None
        self.error: str | None = None
        self.success_known = True

    @property
    def needed_from(self) -> int:
        """The first round that it needs."""
        return self.first if self.seen_at < 0 else self.seen_at

    @property
    def ready(self) -> bool:
        """Whether the rounds that it needs have come."""
        stop = self.stop if self.stop > self.first else self.seen_at + 1
        return self.blocks is None or stop <= 0 or self.blocks.has(stop)

    def end(self, cfg: RecordCfg, keeps_observations: bool) -> EndedTrial:
        """The finished trial. Raises what cannot be made into a record."""
        assert self.begun is not None
        assert self.last is not None
        trial = self.trial
        trial.first = self.begun.bytes()
        if keeps_observations:
            trial.record.observe(self._first_seen(self.begun))
        trial.record.lies_in(self.blocks, self.world, self.first, self.stop)
        return trial.finish(Ending(self.outcome, self.error, self.success_known, self.last.bytes()), cfg)

    def _first_seen(self, begun: Sight) -> list[np.ndarray]:
        leaves = begun.leaves()
        if self.seen_at < 0:
            return leaves
        assert self.blocks is not None
        found = dict(self.blocks.rows(self.world, self.seen_at, self.seen_at + 1))
        return [found[str(i)][0] for i in range(len(leaves))]


class Recording:
    """`write` puts a finished trial on disk and says what to report."""

    def __init__(self, cfg: RecordCfg, write: Callable[[int, EndedTrial, float], Event]):
        self._cfg, self._write = cfg, write
        self.outstanding: dict[int, Leaving] = {}
        """Those that are not yet reported, by identity, the oldest first."""
        self._waiting: deque[Leaving] = deque()
        self._landed: deque[tuple[Leaving, Event]] = deque()
        self._news = threading.Condition()
        self._pool: ThreadPoolExecutor | None = None
        self._turn_s = sys.getswitchinterval()

    def put(self, leaving: Leaving) -> None:
        """Record this trial, as soon as its rounds have come."""
        self.outstanding[id(leaving)] = leaving
        with self._news:
            if leaving.ready:
                self._begin(leaving)
            else:
                self._waiting.append(leaving)

    def look(self) -> None:
        """Begin with those whose rounds have come. On any thread."""
        with self._news:
            some, self._waiting = self._waiting, deque()
            for leaving in some:
                if leaving.ready:
                    self._begin(leaving)
                else:
                    self._waiting.append(leaving)

    def _begin(self, leaving: Leaving) -> None:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(threads(), "proctor-record")
            sys.setswitchinterval(TURN_S)
        self._pool.submit(self._record, leaving)

    def _record(self, leaving: Leaving) -> None:
        try:
            ended = leaving.end(self._cfg, leaving.trial.record.keeps_observations)
            event = self._write(FREED, ended, leaving.seconds)
        except BREAKS as problem:
            event = Fault(FREED, Outcome.ENV_ERROR, explain(problem), leaving.trial.start.trial)
        with self._news:
            self._landed.append((leaving, event))
            self._news.notify_all()

    @property
    def landed(self) -> bool:
        """Whether there is something to report."""
        return bool(self._landed)

    def reports(self) -> list[Event]:
        """What has been written since the last call."""
        events = []
        while self._landed:
            leaving, event = self._landed.popleft()
            del self.outstanding[id(leaving)]
            events.append(event)
        return events

    def wait(self, seconds: float) -> None:
        """Until something has been written, at most so long."""
        until = time.monotonic() + seconds
        with self._news:
            while not self._landed and self.outstanding and (left := until - time.monotonic()) > 0:
                self._news.wait(left)

    def close(self) -> list[Event]:
        """Write what has come; the last reports. Trials whose rounds have not come are dropped."""
        with self._news:
            for leaving in self._waiting:
                del self.outstanding[id(leaving)]
            self._waiting.clear()
        events = self.reports()
        while self.outstanding:
            self.wait(1.0)
            events += self.reports()
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None
            sys.setswitchinterval(self._turn_s)
        return events
