"""The engine's thread: woken from another one, scheduled soon, and replaced where it hangs in other people's code.

The engine runs little and often; workers run long. A scheduler that lets a worker finish its time slice first leaves
the other workers without actions meanwhile. Linux (6.12 and newer) lets a thread ask for shorter slices in return for
sooner ones; elsewhere nothing happens.

The engine runs short forwards itself, because handing them to a thread costs more than they do. A policy may hang
there all the same. So with process workers the loop runs on a thread of its own, and the caller's thread looks on: if
the loop is inside a policy for longer than the limit, it is left behind and a new thread goes on with the same state,
which finds the forward overdue and deals with it. The old one, should the policy ever return, notices and ends.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import struct
import sys
import threading
import time
from collections.abc import Callable


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
        """On the loop's thread. What is about to be written is left for the next time: taken back before it comes, it
        would stay in the pipe, and the loop would not wait any more."""
        if self._set:
            try:
                os.read(self.fd, 16)
            except BlockingIOError:
                return
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


LOOK_S = 0.05


class Abandoned(BaseException):
    """Raised on a thread that another one has taken over from."""


class Supervisor:
    """`run` calls `loop` until it returns; the loop marks with `enter` and `leave` where it may get stuck."""

    def __init__(self, limit_s: float | None):
        self._limit_s = limit_s
        self._lock = threading.Lock()
        self._runner: threading.Thread | None = None
        self._since: float | None = None
        self._failure: BaseException | None = None

    def enter(self) -> None:
        """What follows may not return."""
        self._since = time.monotonic()

    def leave(self) -> None:
        """It has. Raises Abandoned if it took too long and another thread went on."""
        with self._lock:
            if self._runner is not None and self._runner.ident != threading.get_ident():
                raise Abandoned
            self._since = None

    def overdue(self) -> bool:
        """Whether what was entered has not been left in time."""
        since = self._since
        return self._limit_s is not None and since is not None and time.monotonic() - since > self._limit_s

    def run(self, loop: Callable[[], None]) -> None:
        """Until the loop is through. What it raises is raised here."""
        while not self._watch(self._start(loop)):
            pass
        self._runner = None
        if self._failure is not None:
            raise self._failure

    def _start(self, loop: Callable[[], None]) -> threading.Thread:
        self._runner = threading.Thread(target=self._guarded, args=(loop,), name="proctor-engine", daemon=True)
        self._runner.start()
        return self._runner

    def _guarded(self, loop: Callable[[], None]) -> None:
        try:
            loop()
        except Abandoned:
            return
        except BaseException as problem:
            self._failure = problem

    def _watch(self, runner: threading.Thread) -> bool:
        """Whether the thread came to an end; False: it is stuck and has been left behind."""
        while runner.is_alive():
            runner.join(LOOK_S)
            with self._lock:
                since = self._since
                if self._limit_s is not None and since is not None and time.monotonic() - since > self._limit_s:
                    self._since, self._runner = None, threading.current_thread()  # not the stuck one any more
                    return False
        return True
