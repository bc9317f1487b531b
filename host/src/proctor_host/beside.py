"""What happens to trials that have ended beside the steps of the others: on threads of their own.

A disk takes milliseconds to say that a file will survive a crash, and a file system syncs many files together in about
the time of one. A metric that takes long, such as exact transport, leaves the interpreter free meanwhile. Both are done
here; everything else of a record needs the interpreter, and a hand-over would cost more than it is. What has been done
is reported by the thread that steps again, so a trial never counts before its arrays are durable. While what has been
handed over holds too much memory, who hands over more waits.
"""

from __future__ import annotations

import os
import queue
import select
import threading
from collections import deque
from typing import Callable, Generic, Sequence, TypeVar

Report = TypeVar("Report")

MOST_BYTES = 1 << 29
"""Of what has been handed over and is not done; a single one may be larger."""


def cores() -> int:
    """How many trials are measured at once: the cores that this process may use, less the one that steps."""
    found = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, found - 1)


MOST = max(8, 2 * cores())
"""Threads, each of which writes a file, or waits for a process that does (`proctor_host.scribes`)."""


class Beside(Generic[Report]):
    """Work that was handed over, by any thread, and what came of it. One thread takes the reports."""

    def __init__(self) -> None:
        self.outstanding = 0
        """How much is not yet reported."""
        self.fd = -1
        """A file that can be read from when there is something to report; -1 until something is handed over."""
        self.computing = threading.Semaphore(cores())
        """Taken by work while it computes."""
        self._wake = -1
        self._work: queue.SimpleQueue[tuple[Callable[[], Sequence[Report]], int] | None] = queue.SimpleQueue()
        self._landed: deque[Sequence[Report]] = deque()
        self._done = threading.Condition()
        self._held = self._threads = 0

    def put(self, work: Callable[[], Sequence[Report]], nbytes: int = 0) -> None:
        """Have this done, which raises nothing, reports on any number of things and holds so many bytes meanwhile.
        Waits while there are too many."""
        with self._done:
            while self._held and self._held + nbytes > MOST_BYTES:
                self._done.wait()
            if self.fd < 0:
                self.fd, self._wake = os.pipe()
            self._held += nbytes
            self.outstanding += 1
            self._work.put((work, nbytes))
            if self._threads < min(self.outstanding, MOST):
                self._threads += 1
                threading.Thread(target=self._serve, name="proctor-beside", daemon=True).start()

    def _serve(self) -> None:
        while (handed := self._work.get()) is not None:
            work, nbytes = handed
            self._landed.append(work())
            del work, handed
            with self._done:
                self._held -= nbytes
                self._done.notify_all()
            os.write(self._wake, b"\0")

    @property
    def landed(self) -> bool:
        """Whether there is something to report."""
        return bool(self._landed)

    def reports(self) -> list[Report]:
        """What has been done since the last call."""
        if not self._landed:
            return []
        landed = [self._landed.popleft() for _ in os.read(self.fd, MOST)]
        with self._done:
            self.outstanding -= len(landed)
        return [report for each in landed for report in each]

    def wait(self, seconds: float) -> None:
        """Until something has been done, at most so long; not at all where nothing is under way."""
        if self.outstanding:
            poll = select.poll()
            poll.register(self.fd, select.POLLIN)
            poll.poll(1000 * seconds)

    def close(self) -> list[Report]:
        """Finish everything and let go of the threads; the last reports."""
        found = self.reports()
        while self.outstanding:
            self.wait(1.0)
            found += self.reports()
        for _ in range(self._threads):
            self._work.put(None)
        self._threads = 0
        if self.fd >= 0:
            os.close(self.fd)
            os.close(self._wake)
            self.fd = -1
        return found
