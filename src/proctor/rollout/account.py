"""Where the time of a run's slots went.

A slot that holds a trial is, at every moment, in one of five places: in its environment (made, reset, stepped,
rendered), in a forward of its policy, waiting (for a forward to start, or for its worker to be done with another slot),
being recorded (metrics, arrays, video on disk), or on its way between worker and engine. Four are measured with clocks
that are read anyway, or once per trial; the way is what is left. Attempts that broke do not count.
"""

from __future__ import annotations

from collections.abc import Iterable

from proctor.rollout.ask.lanes import LaneStats
from proctor_host.messages import Spent

PLACES = ("environment", "inference", "transfer", "waiting", "recording")


class TimeAccount:
    """Slot-seconds of finished trials: with 16 slots, a minute has 16 slot-minutes."""

    def __init__(self) -> None:
        self._trials_s = 0.0
        self._spent = Spent()

    def add(self, seconds: float, spent: Spent) -> None:
        """A trial was done after so many seconds in its slot."""
        self._trials_s += seconds
        self._spent = Spent(*(a + b for a, b in zip(self._spent, spent, strict=True)))

    def seconds(self, lanes: Iterable[LaneStats]) -> dict[str, float]:
        """By place, in the order of `PLACES`; empty before any trial is done. What the lanes did for trials that
        broke is in here, so the sum may exceed the trials' time."""
        if self._trials_s == 0.0:
            return {}
        stats, spent = list(lanes), self._spent
        inference = sum(s.slot_s for s in stats)
        waiting = sum(s.queued_s for s in stats) + spent.turns_s
        measured = spent.environment_s + inference + waiting + spent.recording_s
        transfer = max(self._trials_s - measured, 0.0)
        values = spent.environment_s, inference, transfer, waiting, spent.recording_s
        return dict(zip(PLACES, values, strict=True))
