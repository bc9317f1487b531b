"""A sequential test of two rates of independent trials with a declared maximum: alpha spending, computed exactly.

After i trials of each agent the state is the pair of success counts. How many ways lead to it without having stopped
does not depend on the rates, so one recursion over counts of ways serves every common rate p: a state with t
successes in all has probability ways * p^t * (1 - p)^(2i - t). At each look, states are taken into the boundary in
the order of their score statistic, each that fits, for every p, into what may be spent by then (O'Brien and Fleming's
spending). It is to Barnard's test what `proctor.stats.spending` is to McNemar's.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from proctor.stats.decisions import Decision, PairCounter, PairTest, Verdict, beyond_zero
from proctor.stats.intervals import Discordance, Interval, newcombe
from proctor.stats.significance import BARNARD_LIMIT, barnard_region, region_probability
from proctor.stats.spending import SMALLEST_LEVEL, SpendingTest, spending

NORMAL = NormalDist()
UNPAIRED_LIMIT = 300
"""The largest maximum for which the boundary is computed; above, trials are paired in the order of the plan."""
RESERVED = 12
"""States with so few successes or failures in all that Barnard's test rejects are kept for the last look. There single
states weigh so much that what is spent early can cost the last look 15 points of power; with 6 or 8 here, up to
8."""
COARSE, FINE = 97, 388
NEVER = 1 << 30
MARGIN = 5e-4


@dataclass(frozen=True, eq=False)
class Boundary:
    """`least[i - 1, t]` is the difference of success counts that stops at look i where there are t successes in all;
    `NEVER` where none does. `stopped[i - 1, t]` counts the ways that stop there, in units of 4^i."""

    least: np.ndarray
    stopped: np.ndarray

    def power(self, rate_a: float, rate_b: float) -> tuple[float, float]:
        """Exactly: the chance to stop at the boundary, and the mean number of trials per agent."""
        from proctor.stats import kernels

        stops = np.zeros((len(self.least), 2))
        kernels.unpaired_walk(stops, self.least, float(rate_a), float(rate_b))
        found, looks = float(stops.sum()), np.arange(1, len(stops) + 1)
        return found, float(stops.sum(axis=1) @ looks) + len(stops) * (1 - found)

    def false_alarms(self, rates: np.ndarray) -> np.ndarray:
        """The chance to stop at the boundary for each rate, other than 0 and 1, that both agents have."""
        look, total = np.nonzero(self.stopped)
        ways, trials = self.stopped[look, total], 2 * (look + 1)
        return np.array([ways @ np.exp(total * np.log(2 * p) + (trials - total) * np.log(2 - 2 * p)) for p in rates])


@functools.lru_cache(maxsize=8)
def unpaired_boundary(max_trials: int, alpha: float = 0.05) -> Boundary:
    """The boundary for at most `max_trials` per agent. The chance to cross it is at most alpha less a margin at
    each rate of a fine grid; the margin is fifty times what the chance was found to grow between two of them. Where the
    coarser grid, on which the boundary is built, has missed a peak, it is built anew for a little less."""
    from proctor.stats import kernels

    budgets = spending(max_trials, alpha)
    if max_trials > UNPAIRED_LIMIT:
        raise ValueError(f"a maximum of {max_trials}; boundaries for independent trials go up to {UNPAIRED_LIMIT}")
    reserved, cost = _reserve(max_trials, alpha)
    budgets = np.repeat(budgets[:, None], COARSE, axis=1)
    budgets[:-1] = np.clip(alpha - cost, 0, budgets[:-1])
    scale = 1.0
    while True:
        shape = (max_trials, 2 * max_trials + 1)
        boundary = Boundary(np.full(shape, NEVER), np.zeros(shape))
        kernels.unpaired_boundary(boundary.least, boundary.stopped, scale * budgets, _rates(COARSE), reserved)
        worst = float(boundary.false_alarms(_rates(FINE)).max())
        if worst <= (1 - MARGIN) * alpha:
            return boundary
        scale *= (1 - 2 * MARGIN) * alpha / worst


def _reserve(max_trials: int, alpha: float) -> tuple[np.ndarray, np.ndarray]:
    """For each number of successes the difference that is kept for the last look, and what these states cost at the
    coarse rates if nothing stopped before."""
    gaps = np.full(2 * max_trials + 1, NEVER)
    if max_trials > BARNARD_LIMIT:
        return gaps, np.zeros(COARSE)
    a, b = np.indices((max_trials + 1, max_trials + 1))
    few = np.minimum(a + b, 2 * max_trials - a - b) <= RESERVED
    region = (barnard_region(max_trials, alpha) > 0) & few
    np.minimum.at(gaps, (a + b)[region], np.abs(a - b)[region])
    return gaps, region_probability(region, _rates(COARSE))


def _rates(count: int) -> np.ndarray:
    """Rates up to a half, even for the square root's arcsine. Those above are their mirror images."""
    return np.sin(np.linspace(0, math.pi / 4, count + 1)[1:]) ** 2


class UnpairedSpendingTest:
    """As `SpendingTest`, for independent trials: give it one outcome of each agent at a time, in plan order."""

    def __init__(self, max_trials: int, alpha: float = 0.05):
        self.alpha, self.max_trials = alpha, max_trials
        self._least = unpaired_boundary(max_trials, alpha).least
        self._counter = PairCounter()
        self._looks: list[tuple[int, int]] = []
        self.decision = Decision(Verdict.GO_ON, 0)

    @property
    def pairs(self) -> Discordance:
        return self._counter.frozen

    def update(self, a: bool, b: bool) -> Decision:
        if self.decision.stop:
            return self.decision
        self._counter.add(bool(a), bool(b))
        n, pairs = self.decision.n + 1, self.pairs
        self._looks.append((pairs.both + pairs.only_a, pairs.both + pairs.only_b))
        ahead = pairs.only_a - pairs.only_b
        if abs(ahead) >= self._least[n - 1, sum(self._looks[-1])]:
            self.decision = Decision(Verdict.DIFFERENT, n, "a" if ahead > 0 else "b")
        else:
            self.decision = Decision(Verdict.MAXIMUM if n == self.max_trials else Verdict.GO_ON, n)
        return self.decision

    def interval(self) -> Interval:
        """For rate a minus rate b, at any look and after the stop: Newcombe's at the level of the boundary of each
        look, all looks together."""
        low, high = -1.0, 1.0
        for n, (a, b) in enumerate(self._looks, start=1):
            gap = int(self._least[n - 1, a + b])
            level = 0.0 if gap == NEVER else 2 * NORMAL.cdf(-gap / math.sqrt((a + b) * (2 * n - a - b) / (2 * n)))
            found = newcombe(a, n, b, n, 1 - level) if level > SMALLEST_LEVEL else None
            if found is not None and max(low, found.low) < min(high, found.high):
                low, high = max(low, found.low), min(high, found.high)
        return beyond_zero(Interval(low, high), self.decision)


def simulate_unpaired(a: np.ndarray, b: np.ndarray, alpha: float = 0.05) -> np.ndarray:
    """`UnpairedSpendingTest` on many streams at once: outcomes `(streams, max_trials)`. For each stream the number of
    trials per agent at the stop, negative where b was found better; 0 where nothing was found."""
    of_a, of_b = np.cumsum(a, axis=1, dtype=np.int64), np.cumsum(b, axis=1, dtype=np.int64)
    least = unpaired_boundary(a.shape[1], alpha).least[np.arange(a.shape[1]), of_a + of_b]
    crossed = np.abs(of_a - of_b) >= least
    first, rows = crossed.argmax(axis=1), np.arange(len(a))
    return np.where(crossed[rows, first], np.sign(of_a - of_b)[rows, first] * (first + 1), 0)


def sequential_test(max_trials: int, alpha: float = 0.05, *, paired: bool) -> PairTest:
    """The spending test that fits: for independent trials the unpaired one as far as it goes; above, the paired one,
    whose error rate holds for them, too."""
    if paired or max_trials > UNPAIRED_LIMIT:
        return SpendingTest(max_trials, alpha)
    return UnpairedSpendingTest(max_trials, alpha)
