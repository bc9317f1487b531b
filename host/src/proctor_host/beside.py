"""Trials that have ended, recorded beside the steps of the others: on threads of their own.

A metric that takes long, such as exact transport, leaves the interpreter free meanwhile, and so do compressing, hashing
and syncing a record. A trial that has such a metric is recorded here. Its slot stays taken until it has been reported,
so a worker never has more of them than slots; while they hold too much memory, who hands over one more waits. All
others are recorded by the thread that steps: that is little next to an episode, and a hand-over would cost more in
waiting for the interpreter.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import Callable, Generic, TypeVar

Report = TypeVar("Report")
MOST_BYTES = 1 << 29
"""Of what has been handed over and is not done; a single one may be larger."""


def threads() -> int:
    """How many trials are recorded at once: the cores that this process may use, less the one that steps."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, cores - 1)


class Beside(Generic[Report]):
    """Work that was handed over, and what came of it. Everything but the work itself happens on one thread, which is
    the only one that takes reports."""

    def __init__(self) -> None:
        self.outstanding = 0
        """How much is not yet reported."""
        self._held = 0
        self._landed: deque[Report] = deque()
        self._news = threading.Condition()
        self._pool: ThreadPoolExecutor | None = None

    def put(self, work: Callable[[], Report], nbytes: int = 0) -> None:
        """Have this done, which raises nothing and holds so many bytes meanwhile. Waits while there are too many."""
        if self._pool is None:
            self._pool = ThreadPoolExecutor(threads(), "proctor-record")
        with self._news:
            while self._held and self._held + nbytes > MOST_BYTES:
                self._news.wait()
            self._held += nbytes
        self.outstanding += 1
        self._pool.submit(self._do, work, nbytes)

    def _do(self, work: Callable[[], Report], nbytes: int) -> None:
        report = work()
        with self._news:
            self._held -= nbytes
            self._landed.append(report)
            self._news.notify_all()

    @property
    def landed(self) -> bool:
        """Whether there is something to report."""
        return bool(self._landed)

    def reports(self) -> list[Report]:
        """What has been done since the last call."""
        found: list[Report] = []
        while self._landed:
            found.append(self._landed.popleft())
        self.outstanding -= len(found)
        return found

    def wait(self, seconds: float) -> None:
        """Until something has been done, at most so long."""
        with self._news:
            if not self._landed and self.outstanding:
                self._news.wait(seconds)

    def close(self) -> list[Report]:
        """Finish everything; the last reports."""
        found = self.reports()
        while self.outstanding:
            self.wait(1.0)
            found += self.reports()
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None
        return found
