"""Calls into other people's code: how long they take, whom they run for, and which limit they break.

Every call into an environment, or into a policy that lives in the worker, goes through `Watch.call`. A worker process
writes there what is running, for which slot and since when (its *pulse*), to memory that the engine reads, also after
the worker has died. So a hang or a crash is blamed on the trial whose code was running, and on no other.
"""

from __future__ import annotations

import math
import time
from typing import Any, Callable, Protocol

from proctor_host.copies import end_if_copied, forks
from proctor_host.errors import BREAKS

NBYTES = 64
"""Of memory that a pulse needs."""
IDLE, STEPPING, RESETTING, ACTING, LOADING, MAKING, CLOSING, UNLOADING = map(float, range(8))
NOBODYS = (IDLE, LOADING, CLOSING, UNLOADING)
"""What is done for no trial: nobody pays for what goes wrong there."""
LOAD_S, CLOSE_S = 120.0, 20.0
"""How long a worker may take to load a policy; how long an environment or a policy may take to close, if the limit of
its other calls is not shorter."""
ALL_SLOTS = -1


class HasLimits(Protocol):
    """Seconds that a call may take, None for any: a `LimitsCfg`, or what has the same fields."""

    @property
    def step_s(self) -> float | None: ...
    @property
    def reset_s(self) -> float | None: ...
    @property
    def trial_s(self) -> float | None: ...
    @property
    def act_s(self) -> float | None: ...


class Watch:
    """Times calls. `pulse` is memory of `NBYTES` bytes that somebody else reads; None where nobody does."""

    def __init__(self, pulse: Any = None):
        self._cells = memoryview(bytearray(NBYTES) if pulse is None else pulse)[:24].cast("d")
        self._since = 0.0
        self._forks = forks()
        self.now = 0.0
        """When the last call came back, on the machine's monotonic clock."""

    def begin(self, what: float, slot: int) -> None:
        """A call of this kind begins, for this slot (`ALL_SLOTS`: for all of them)."""
        cells = self._cells
        cells[1] = slot
        cells[2] = self._since = time.monotonic()
        cells[0] = what

    def now_at(self, what: float) -> None:
        """The call goes on with something of another kind, within the same limit."""
        self._cells[0] = what

    def alone(self, given: Any) -> Any:
        """What another's code gave within a call, if this is still the process that asked: a copy of it ends here,
        before it writes to memory that both share."""
        end_if_copied(self._forks)
        return given

    def end(self) -> float:
        """The call has come back; the seconds since `begin`. A copy of the process that comes back, too, ends here."""
        end_if_copied(self._forks)
        self._cells[0] = IDLE
        self.now = now = time.monotonic()
        return now - self._since

    def go_on(self, slot: int) -> float:
        """The call has come back, and one of the same kind begins for this slot; the seconds since the last began."""
        end_if_copied(self._forks)
        cells, since = self._cells, self._since
        cells[1] = slot
        cells[2] = self._since = self.now = now = time.monotonic()
        return now - since

    def call(self, what: float, slot: int, function: Callable[..., Any], *arguments: Any) -> tuple[Any, Any, float]:
        """What the function gave (or None), what it raised (or None), and the seconds."""
        self.begin(what, slot)
        try:
            return function(*arguments), None, self.end()
        except BREAKS as problem:
            return None, problem, self.end()

    def read(self) -> tuple[float, int, float]:
        """What is running, for which slot, and since when on the machine's monotonic clock."""
        what, slot, since = self._cells.tolist()
        return what, int(slot), since


def limit_of(what: float, limits: HasLimits) -> tuple[str, float | None]:
    """What a call of this kind has not done, once so many seconds have gone; None: there is no limit."""

    def closing(limit_s: float | None) -> float:
        return CLOSE_S if limit_s is None else min(limit_s, CLOSE_S)

    return {
        STEPPING: ("the environment did not return from step", limits.step_s),
        MAKING: ("the environment was not made", limits.reset_s),
        RESETTING: ("the environment did not return from reset", limits.reset_s),
        CLOSING: ("the environment did not return from close", closing(limits.reset_s)),
        ACTING: ("the policy did not answer", limits.act_s),
        LOADING: ("the policy was not loaded", LOAD_S),
        UNLOADING: ("the policy did not return from close", closing(limits.act_s)),
    }[what]


def overdue(watch: Watch, limits: HasLimits) -> str | None:
    """Which call is not back yet although its time is over, for whoever looks on from elsewhere; None: none."""
    what, _, since = watch.read()
    if what == IDLE:
        return None
    who, limit = limit_of(what, limits)
    return None if limit is None or time.monotonic() - since <= limit else f"{who} within {limit:g} s"


class Limits:
    """The time limits of a run: of one call, and of all calls of a trial."""

    def __init__(self, cfg: HasLimits):
        self.reset_s, self.step_s, self.trial_s, self.act_s = (
            math.inf if limit is None else limit for limit in (cfg.reset_s, cfg.step_s, cfg.trial_s, cfg.act_s)
        )

    def broken(self, seconds: float, total: float, limit_s: float) -> str | None:
        """Which limit is broken by a call of so many seconds, by a trial that has now spent `total`; None: none."""
        if seconds > limit_s:
            return f"one call into the environment took {seconds:.3g} s; the limit is {limit_s:g} s"
        if total > self.trial_s:
            return f"the trial spent {total:.3g} s in its environment; the limit is {self.trial_s:g} s"
        return None
