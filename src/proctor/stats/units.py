"""A weighted mean over tasks, and the independent units that it is made of.

Every estimate of a verdict is a mean over tasks of means over trials, each task with its share. Trials of one seed
belong together: tasks that are alike find the same seed hard, and repeated trials of one seed are not new evidence. So
what varies independently is the seed, not the trial. A *unit* is a seed with everything that was tried on it; where no
seed occurs twice, units are trials.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from proctor.stats.bootstrap import Estimate, NoInterval, bootstrap_mean
from proctor.stats.intervals import Interval, flat, wilson
from proctor.stats.resampling import Resampling

LARGE = 20_000
"""Values from which formulas take the place of resampling: the two differ by less than they are read to."""


@dataclass(frozen=True, eq=False)
class Units:
    """Values by task, the seed of each, and how much each task counts. Shares add up to 1; no task is empty."""

    values: tuple[np.ndarray, ...]
    seeds: tuple[np.ndarray, ...]
    shares: tuple[float, ...]

    @classmethod
    def of(cls, values: Sequence[np.ndarray], seeds: Sequence[np.ndarray], shares: Sequence[float]) -> Units:
        """In an order that depends on the values alone, so that names and order of tasks change no resample."""
        ordered = [np.argsort(own, kind="stable") for own in seeds]
        tasks = [
            (np.asarray(v, np.float64)[at], np.asarray(s)[at], float(w))
            for v, s, w, at in zip(values, seeds, shares, ordered, strict=True)
        ]
        tasks.sort(key=lambda task: (task[2], len(task[0]), np.abs(task[0]).tobytes(), task[1].tobytes()))
        return cls(tuple(t[0] for t in tasks), tuple(t[1] for t in tasks), tuple(t[2] for t in tasks))

    @property
    def n(self) -> int:
        """Trials, or pairs of trials."""
        return sum(map(len, self.values))

    @property
    def mean(self) -> float:
        return float(sum(w * v.mean() for w, v in zip(self.shares, self.values, strict=True)))

    @property
    def pooled(self) -> float:
        """The mean with every trial counting alike."""
        return float(np.concatenate(self.values).mean())

    @cached_property
    def _ids(self) -> tuple[np.ndarray, int]:
        """The unit of every value, task after task, and how many units there are."""
        found, ids = np.unique(np.concatenate(self.seeds), return_inverse=True)
        return ids, len(found)

    @property
    def count(self) -> int:
        """How many independent units there are."""
        return self._ids[1]

    @property
    def clustered(self) -> bool:
        """Whether a seed occurs more than once."""
        return self.count < self.n

    def _added_up(self, per_task: Sequence[np.ndarray]) -> np.ndarray:
        parts = [w / len(v) * v for w, v in zip(self.shares, per_task, strict=True)]
        return np.bincount(self._ids[0], np.concatenate(parts), self.count)

    @cached_property
    def sums(self) -> np.ndarray:
        """What each unit adds to the mean."""
        return self._added_up(self.values)

    @cached_property
    def sample(self) -> np.ndarray:
        """A value for each unit, of which the mean is the mean, and which vary as its units make it vary."""
        moves = self._added_up([v - v.mean() for v in self.values])
        return self.mean + self.count * moves

    @property
    def strata(self) -> list[np.ndarray]:
        """What the bootstrap resamples: units as one sample where seeds occur more than once, else trials within their
        tasks, scaled so that their plain mean is the mean."""
        if self.clustered:
            return [self.sample]
        return [w * self.n / len(v) * v for w, v in zip(self.shares, self.values, strict=True)]

    def obstacle(self, bounded: bool) -> NoInterval | None:
        """What of a task leaves its spread unknown, so that nobody knows how far off the mean over tasks is: a single
        seed; equal values, where nothing bounds what else could come. Neither makes a task known exactly."""
        counting = [(v, s) for v, s, w in zip(self.values, self.seeds, self.shares, strict=True) if w > 0]
        if any(len(seeds) < 2 or (seeds == seeds[0]).all() for _, seeds in counting):
            return NoInterval.SINGLE_VALUE
        still = [flat(values) for values, _ in counting]
        if bounded or not any(still):
            return None
        return NoInterval.EQUAL if all(still) else NoInterval.EQUAL_TASK

    @property
    def design_effect(self) -> float:
        """By how much shared seeds raise the variance of the mean; never below 1."""
        alone = sum(
            w * w * float(((v - v.mean()) ** 2).sum()) / len(v) ** 2
            for w, v in zip(self.shares, self.values, strict=True)
        )
        together = float(((self.sample - self.mean) ** 2).sum()) / self.count**2
        few = self.count / max(self.count - 1, 1) if self.clustered else 1.0
        return max(1.0, few * together / alone) if alone > 0 else 1.0

    def skewness(self) -> float:
        """Of the units; 0 where they do not vary."""
        moves = self.sample - self.mean
        spread = math.sqrt(float((moves**2).mean()))
        return float((moves**3).mean()) / spread**3 if spread > 0 else 0.0


def combined(
    parts: Sequence[tuple[float, Interval]], shares: Sequence[float], design_effect: float = 1.0
) -> Interval | None:
    """The interval of a weighted sum of independent estimates from their own intervals (the method of variance
    estimates recovery, Zou and Donner 2008); None without parts. Wider by the root of a design effect."""
    if not parts:
        return None
    if len(parts) == 1 and design_effect == 1.0:
        return parts[0][1]
    value = sum(w * v for w, (v, _) in zip(shares, parts, strict=True))
    stretch = math.sqrt(design_effect)
    low = math.hypot(*(w * (v - own.low) for w, (v, own) in zip(shares, parts, strict=True)))
    high = math.hypot(*(w * (own.high - v) for w, (v, own) in zip(shares, parts, strict=True)))
    return Interval(value - stretch * low, value + stretch * high)


def opened(interval: Interval | None, mean: float, n: int, level: float, limits: Interval) -> Interval | None:
    """An interval of a mean of values within `limits`, opened for what n units may have missed: something that happens
    with probability q has not been seen with probability (1 - q)^n, and would move the mean by up to q times its
    distance from a limit."""
    if interval is None:
        return None
    unseen = rare(n, level)
    low = mean - unseen * (mean - limits.low)
    return Interval(min(interval.low, low), max(interval.high, mean + unseen * (limits.high - mean)))


def within(interval: Interval | None, limits: Interval | None) -> Interval | None:
    """An interval without what lies beyond limits; as it is where there are none."""
    if interval is None or limits is None:
        return interval
    return Interval(max(limits.low, interval.low), min(limits.high, interval.high))


def rare(n: int, level: float) -> float:
    """The most probable event that n units may all have missed, at this level."""
    return 1 - ((1 - level) / 2) ** (1 / n)


RATE = Interval(0.0, 1.0)
WILSON = "wilson"


def is_rate(units: Units) -> bool:
    """Whether every value is 0 or 1."""
    return all(np.isin(values, (0.0, 1.0)).all() for values in units.values)


def rate_interval(units: Units, level: float) -> Interval | None:
    """Wilson's intervals of the tasks, combined; wider where tasks share seeds. Never of width 0; None without
    trials."""
    parts = [
        (float(values.mean()), own)
        for values in units.values
        if (own := wilson(int((values != 0).sum()), len(values), level)) is not None
    ]
    found = combined(parts, units.shares, units.design_effect)
    return within(found, RATE)


def mean_estimate(units: Units, level: float, resampling: Resampling, limits: Interval | None = None) -> Estimate:
    """The weighted mean of scores: values that are all 0 or 1 as a rate where 0 and 1 are what scores lie within (a
    return that happens to be 1 every time is no rate), others by the bootstrap of units, opened for rare events where
    scores lie within `limits`. There is no interval where the spread of a task is unknown. No value may be
    missing."""
    if limits == RATE and is_rate(units):
        return Estimate(units.mean, units.n, rate_interval(units, level), method=WILSON)
    if (reason := units.obstacle(limits is not None)) is not None:
        return Estimate(units.mean, units.n, None, reason)
    found = bootstrap_mean(units.strata, level, resampling)
    if limits is None or found.reason not in (None, NoInterval.EQUAL):
        return Estimate(units.mean, units.n, found.interval, found.reason, method=found.method)
    start = found.interval or Interval(units.mean, units.mean)
    wide = within(opened(start, units.mean, units.count, level, limits), limits)
    return Estimate(units.mean, units.n, wide, method=found.method)
