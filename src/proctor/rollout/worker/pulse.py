"""A worker's pulse: which slot its environment code is running for, and since when.

The worker writes it around every call into an environment, or into a policy that lives there; whoever watches reads
it, also after the worker has died. So a hang or a crash is blamed on the trial that was being stepped, and on no other.
"""

from __future__ import annotations

import time
from typing import Any

NBYTES = 64
IDLE, STEPPING, RESETTING, ACTING, LOADING = 0.0, 1.0, 2.0, 3.0, 4.0
ALL_SLOTS = -1


class Stopwatch:
    """A pulse that nobody else can see: for environments in the caller's process."""

    def __init__(self) -> None:
        self._since = 0.0

    def begin(self, what: float, slot: int) -> None:
        self._since = time.monotonic()

    def end(self) -> float:
        """Seconds since `begin`."""
        return time.monotonic() - self._since


class Pulse:
    """Over a buffer of 64 bytes: what is running, for which slot, since when (monotonic seconds of the machine)."""

    def __init__(self, buffer: Any):
        self._cells = memoryview(buffer)[:24].cast("d")
        self._since = 0.0

    def begin(self, what: float, slot: int) -> None:
        cells = self._cells
        cells[1] = slot
        cells[2] = self._since = time.monotonic()
        cells[0] = what

    def end(self) -> float:
        """Seconds since `begin`."""
        self._cells[0] = IDLE
        return time.monotonic() - self._since

    def read(self) -> tuple[float, int, float]:
        """(what, slot, since)."""
        what, slot, since = self._cells.tolist()
        return what, int(slot), since
