"""The engine's thread: woken from another one, and scheduled soon.

The engine runs little and often; workers run long. A scheduler that lets a worker finish its time slice first leaves
the other workers without actions meanwhile. Linux (6.12 and newer) lets a thread ask for shorter slices in return for
sooner ones; elsewhere nothing happens.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import struct
import sys


class Waker:
    """A pipe that becomes readable, written at most once until it is read."""

    def __init__(self) -> None:
        self.fd, self._write = os.pipe()
        os.set_blocking(self.fd, False)
        self._set = False
        self._closed = False

    def wake(self) -> None:
        """From any thread. What was queued before is seen by the loop after its next `clear`."""
        if not self._set and not self._closed:
            self._set = True
            with contextlib.suppress(OSError):
                os.write(self._write, b"\0")

    def clear(self) -> None:
        if self._set:
            with contextlib.suppress(BlockingIOError):
                os.read(self.fd, 16)
            self._set = False

    def close(self) -> None:
        self._closed = True
        os.close(self.fd)
        os.close(self._write)


_SCHED_SETATTR = {"x86_64": 314, "aarch64": 274}
_SLICE_NS = 100_000


def prefer_short_slices() -> None:
    """For the calling thread, as far as the system knows of such. Its priority stays what it was."""
    number = _SCHED_SETATTR.get(platform.machine())
    if sys.platform != "linux" or number is None or os.sched_getscheduler(0) != os.SCHED_OTHER:
        return
    size, policy, flags, nice, priority = 48, os.SCHED_OTHER, 0, os.getpriority(os.PRIO_PROCESS, 0), 0
    attributes = struct.pack("<IIQiIQQQ", size, policy, flags, nice, priority, _SLICE_NS, 0, 0)
    ctypes.CDLL(None).syscall(number, 0, attributes, 0)
