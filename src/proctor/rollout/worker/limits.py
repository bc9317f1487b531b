"""Calls into other people's code: how long they take, whom they run for, and which limit they break.

Every call into an environment, or into a policy that lives in the worker, goes through `Watch.call`. A worker process
writes there what is running, for which slot and since when (its *pulse*), to memory that the engine reads, also after
the worker has died. So a hang or a crash is blamed on the trial whose code was running, and on no other.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

from proctor.config.models import LimitsCfg
from proctor.errors import BREAKS
from proctor.rollout.copies import end_if_copied, forks

NBYTES = 64
"""Of memory that a pulse needs."""
IDLE, STEPPING, RESETTING, ACTING, LOADING = 0.0, 1.0, 2.0, 3.0, 4.0
ALL_SLOTS = -1


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

    def end(self) -> float:
        """The call has come back; the seconds since `begin`. A copy of the process that comes back, too, ends here."""
        end_if_copied(self._forks)
        self._cells[0] = IDLE
        self.now = now = time.monotonic()
        return now - self._since

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


class Limits:
    """The time limits of a run: of one call, and of all calls of a trial."""

    def __init__(self, cfg: LimitsCfg):
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
