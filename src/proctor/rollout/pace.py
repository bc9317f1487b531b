"""How fast a worker steps, as far as can be seen from what it says."""

from __future__ import annotations


class Pace:
    """What one step takes there, on average lately. A worker steps its slots one after the other, so that it has
    something to do for as many steps as it has slots that are running."""

    def __init__(self) -> None:
        self._step_s = 0.0
        self._heard_at = 0.0

    def heard(self, slots: int, now: float) -> None:
        """It has news of so many slots."""
        step_s = min(now - self._heard_at, 1.0) / slots
        self._step_s, self._heard_at = 0.8 * self._step_s + 0.2 * step_s, now

    def spare_s(self, running: int, now: float) -> float:
        """About how long until it has nothing to step."""
        return running * self._step_s - (now - self._heard_at)
