"""Calls that may never come back, bounded: for `check`, which tries other people's code before anything is known of it.

A call runs on a thread of its own, and whoever waits for it asks now and then whether it is stuck. A thread cannot be
ended; one that is stuck is left behind, and goes when the process goes. The numeric threads that it has pinned are
given back, so that another run of this process may ask for another number.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

from proctor import threads
from proctor.config.models import LimitsCfg
from proctor.errors import InputError
from proctor_host.limits import Watch, overdue

T = TypeVar("T")
LOOK_S = 0.05


class Hung(InputError):
    """A call did not come back within its limit. The text says which."""


def bounded(call: Callable[[], T], stuck: Callable[[], str | None]) -> T:
    """What the call gives. Raises what it raises, or Hung as soon as `stuck` says something."""
    given: list[T] = []
    raised: list[BaseException] = []

    def run() -> None:
        try:
            given.append(call())
        except BaseException as problem:
            raised.append(problem)

    thread = threading.Thread(target=run, name="proctor-check", daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(LOOK_S)
        if thread.is_alive() and (reason := stuck()) is not None:
            threads.abandon(thread)
            raise Hung(reason)
    if raised:
        raise raised[0]
    return given[0]


class Timed:
    """Calls of several kinds, one after the other, each within its limit: `call` on the thread that makes them,
    `stuck` on the one that looks on."""

    def __init__(self, limits: LimitsCfg):
        self._limits, self._watch = limits, Watch()

    def begin(self, what: float) -> None:
        """A call of this kind begins; the limit counts from now."""
        self._watch.begin(what, 0)

    def call(self, what: float, function: Callable[..., Any], *arguments: Any) -> Any:
        """What the function gives. Raises what it raises."""
        self.begin(what)
        try:
            return function(*arguments)
        finally:
            self._watch.end()

    def stuck(self) -> str | None:
        """Which call is not back yet although its time is over."""
        return overdue(self._watch, self._limits)
