"""Keeping a loop alive that runs other people's code on its own thread.

The engine runs short forwards itself, because handing them to a thread costs more than they do. A policy may hang
there all the same. So with process workers the loop runs on a thread of its own, and the caller's thread looks on: if
the loop is inside a policy for longer than the limit, it is left behind and a new thread goes on with the same state,
which finds the forward overdue and deals with it. The old one, should the policy ever return, notices and ends.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

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
