"""The trials that are in worlds of a device: what each is, since which round, and how long it took so far."""

from __future__ import annotations

from collections import Counter
from typing import Any, Iterator, NamedTuple

import numpy as np

from proctor_host.recording import Sight
from proctor_host.trial import RunningTrial

NEVER = 1 << 60


class Flight(NamedTuple):
    """A trial in a world: what it asks of which pilot, the round of its first step (warm-up included), and what it
    began with."""

    trial: RunningTrial
    request: Any
    pilot: Any
    first: int
    begun: Sight
    reset_s: float
    error: str | None
    """What its policy raised as the trial began."""


class Flights:
    """By slot, in `worlds` worlds; `wait` are the steps of the warm-up, `steps` those that a trial may have."""

    def __init__(self, worlds: int, wait: int, steps: int):
        self._wait, self._steps = wait, steps
        self._of: dict[int, Flight] = {}
        self.pilots: Counter[Any] = Counter()
        """How many trials ask each pilot."""
        self.doomed: set[int] = set()
        """Slots whose trials end before their first step, since their policies could not begin with them."""
        self.first, self.due = np.full(worlds, NEVER), np.full(worlds, NEVER)
        """By world: the first round of its trial, and the one in which its step limit ends it."""
        self.clock, self._clock_at = 0.0, np.zeros(worlds)
        """Seconds of all steps so far, and what they were when a world's trial began, less those of its reset."""
        self.clips = np.zeros(worlds, np.int64)

    def __len__(self) -> int:
        return len(self._of)

    def __iter__(self) -> Iterator[int]:
        return iter(list(self._of))

    def __getitem__(self, slot: int) -> Flight:
        return self._of[slot]

    def add(self, flight: Flight) -> None:
        slot = flight.trial.start.slot
        self._of[slot] = flight
        self.first[slot] = flight.first
        self.due[slot] = flight.first + self._wait + self._steps - 1
        self.clips[slot] = 0
        flight.pilot.joins(slot, flight.request)
        self.pilots[flight.pilot] += 1
        if flight.error is not None:
            self.doomed.add(slot)

    def remove(self, slot: int) -> None:
        flight = self._of.pop(slot)
        self.doomed.discard(slot)
        flight.pilot.leaves(slot)
        self.pilots[flight.pilot] -= 1
        if not self.pilots[flight.pilot]:
            del self.pilots[flight.pilot]
        self.first[slot] = self.due[slot] = NEVER

    def steps_in(self, number: int) -> None:
        """The worlds of trials that began with this round are about to be timed."""
        for slot, flight in self._of.items():
            if flight.first == number:
                self._clock_at[slot] = self.clock - flight.reset_s

    def seconds(self, slots: Any) -> Any:
        """What the trials in these slots took so far."""
        return self.clock - self._clock_at[slots]

    def last_due(self) -> int:
        """The last round that somebody needs; -1: none."""
        return int(np.where(self.due < NEVER, self.due, -1).max())

    def resting(self, number: int) -> np.ndarray | None:
        """Which worlds are in their warm-up in this round; None: none."""
        if not self._wait:
            return None
        resting = (self.first <= number) & (number < self.first + self._wait)
        return resting if resting.any() else None

    def needed_from(self) -> np.ndarray:
        """By world, the first round that its running trial needs."""
        return self.first + (self._wait - 1 if self._wait else 0)
