"""Sequential inference without a maximum: e-values and confidence sequences, valid at every look and every stop.

A wealth that is multiplied by bets that are fair under a hypothesis is a martingale; it exceeds 1/alpha at any time
with probability at most alpha (Ville). Mixing bets over a prior keeps this exactly. The values of a parameter whose
wealth is below 1/alpha form a confidence sequence: all its intervals hold the truth at once with probability 1 -
alpha.

Both mixtures here have the arcsine prior (Krichevsky and Trofimov's), which costs half of log n.
"""

from __future__ import annotations

import functools
import math

import numpy as np

from proctor.stats.decisions import Decision, PairCounter, Verdict, beyond_zero, check_alpha
from proctor.stats.intervals import Discordance, Interval, check_count

NODES, GRID = 256, 801


def rate_sequence(successes: np.ndarray, n: np.ndarray, alpha: float = 0.05) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper ends of the confidence sequence for one rate, at each of the looks. (0, 1) for n = 0; never of
    width 0."""
    check_alpha(alpha)
    from scipy.special import betaln

    s, n = np.broadcast_arrays(np.asarray(successes, np.float64), np.asarray(n, np.float64))
    limit = betaln(s + 0.5, n - s + 0.5) - math.log(math.pi) + math.log(alpha)
    rate = np.divide(s, n, out=np.full(s.shape, 0.5), where=n > 0)
    low = np.where(s == 0, 0.0, _crossing(s, n, limit, rate, 0.0))
    return low, np.where(s == n, 1.0, _crossing(s, n, limit, rate, 1.0))


def _crossing(s: np.ndarray, n: np.ndarray, limit: np.ndarray, inside: np.ndarray, end: float) -> np.ndarray:
    """Where the log-likelihood falls to `limit` between the observed rate and an end, to the outside."""
    from scipy.special import xlog1py, xlogy

    outside, inside = np.full(s.shape, end), inside.copy()
    for _ in range(60):
        centre = (outside + inside) / 2
        kept = xlogy(s, centre) + xlog1py(n - s, -centre) > limit
        inside, outside = np.where(kept, centre, inside), np.where(kept, outside, centre)
    return outside


class RateSequence:
    """One rate until its interval is narrow: give it outcomes in plan order. The interval holds the true rate at every
    look with probability at least 1 - alpha. `width` None: it never stops."""

    def __init__(self, alpha: float = 0.05, width: float | None = None):
        check_alpha(alpha)
        if width is not None and not 0 < width <= 1:
            raise ValueError(f"an interval width of {width:g}; it lies between 0 and 1, 0.1 for instance")
        self.alpha, self.width = alpha, width
        self.successes = 0
        self.decision = Decision(Verdict.GO_ON, 0)

    def update(self, success: bool) -> Decision:
        if self.decision.stop:
            return self.decision
        self.successes += bool(success)
        n = self.decision.n + 1
        self.decision = Decision(Verdict.GO_ON, n)
        if self.width is not None and self.interval().width <= self.width:
            self.decision = Decision(Verdict.PRECISE, n)
        return self.decision

    def interval(self) -> Interval:
        low, high = rate_sequence(np.asarray(self.successes), np.asarray(self.decision.n), self.alpha)
        return Interval(float(low), float(high))


def log_e_value(only_a: np.ndarray, only_b: np.ndarray) -> np.ndarray:
    """The logarithm of the evidence against equal rates from pairs that only a, and only b, succeeded in."""
    from scipy.special import betaln

    a, b = np.asarray(only_a, np.float64), np.asarray(only_b, np.float64)
    return (a + b) * math.log(2) + betaln(a + 0.5, b + 0.5) - math.log(math.pi)


class MixtureTest:
    """Two rates without a maximum: give it the outcomes of a and b, pair by pair in plan order (pairs of one seed, or
    independent trials), for as long as you like. The chance that it ever says "different" without a difference is at
    most `alpha`. What comes after the stop is ignored."""

    def __init__(self, alpha: float = 0.05):
        check_alpha(alpha)
        self.alpha = alpha
        self._counter = PairCounter()
        self.decision = Decision(Verdict.GO_ON, 0)

    @property
    def pairs(self) -> Discordance:
        return self._counter.frozen

    @property
    def e_value(self) -> float:
        """The evidence against equal rates so far: how many times one stake in fair bets has become."""
        return math.exp(min(700.0, float(log_e_value(np.asarray(self.pairs.only_a), np.asarray(self.pairs.only_b)))))

    def update(self, a: bool, b: bool) -> Decision:
        if self.decision.stop:
            return self.decision
        self._counter.add(bool(a), bool(b))
        n = self.decision.n + 1
        self.decision = Decision(Verdict.GO_ON, n)
        if self.e_value >= 1 / self.alpha:
            better = "a" if self.pairs.only_a > self.pairs.only_b else "b"
            self.decision = Decision(Verdict.DIFFERENT, n, better)
        return self.decision

    def interval(self) -> Interval:
        """For rate a minus rate b, at any look and after the stop."""
        return beyond_zero(difference_sequence(self.pairs, self.alpha), self.decision)


def simulate_mixture(steps: np.ndarray, alpha: float = 0.05) -> np.ndarray:
    """`MixtureTest` on many streams at once: `steps` `(streams, looks)` hold outcome a minus outcome b. For each stream
    the number of pairs at the stop, negative where b was found better; 0 where nothing was found."""
    check_alpha(alpha)
    a, b = np.cumsum(steps > 0, axis=1), np.cumsum(steps < 0, axis=1)
    crossed = log_e_value(a, b) >= -math.log(alpha)
    first = crossed.argmax(axis=1)
    rows = np.arange(len(first))
    signs = np.where(a[rows, first] > b[rows, first], 1, -1)
    return np.where(crossed[rows, first], signs * (first + 1), 0)


def difference_sequence(pairs: Discordance, alpha: float = 0.05) -> Interval:
    """The differences of rate a minus rate b whose wealth is below 1/alpha. The bet against a difference d multiplies
    the wealth by 1 + l (outcome a - outcome b - d), mixed over all l that keep it from going below 0."""
    check_alpha(alpha)
    if pairs.n == 0:
        return Interval(-1.0, 1.0)
    check_count(pairs.only_a, pairs.n)
    grid, tables = _tables()
    kept = np.flatnonzero(_log_wealth(pairs, tables) < -math.log(alpha))
    centre = (pairs.only_a - pairs.only_b) / pairs.n
    inside = grid[kept] if len(kept) else np.array([centre])
    low, high = min(centre, float(inside[0])), max(centre, float(inside[-1]))
    return Interval(_outermost(pairs, alpha, low, -1), _outermost(pairs, alpha, high, 1))


def _outermost(pairs: Discordance, alpha: float, inside: float, side: int) -> float:
    """Between a difference that is kept and the next of the grid outside, the last that is kept."""
    grid, _ = _tables()
    beyond = grid[grid * side > inside * side]
    outside = float(side) if not len(beyond) else float(beyond[0] if side > 0 else beyond[-1])
    if not len(beyond):
        return outside
    for _ in range(40):
        centre = (inside + outside) / 2
        if _log_wealth(pairs, _log_bets(np.array([centre])))[0] < -math.log(alpha):
            inside = centre
        else:
            outside = centre
    return outside


Bets = tuple[np.ndarray, np.ndarray, np.ndarray]


@functools.cache
def _tables() -> tuple[np.ndarray, Bets]:
    grid = np.sin(np.linspace(-math.pi / 2, math.pi / 2, GRID + 2)[1:-1])
    return grid, _log_bets(grid)


def _log_bets(differences: np.ndarray) -> Bets:
    """Logarithms of what a bet pays where only a succeeded, only b did, and else, `(differences, bets)`. The bets are
    equally likely."""
    u = np.sin((np.arange(NODES) + 0.5) * math.pi / (2 * NODES))[None, :] ** 2
    on_a, on_b = u / (1 + differences[:, None]), (1 - u) / (1 - differences[:, None])
    return np.log(2 * on_a), np.log(2 * on_b), np.log(on_a + on_b)


def _log_wealth(pairs: Discordance, bets: Bets) -> np.ndarray:
    from scipy.special import logsumexp

    total = pairs.only_a * bets[0] + pairs.only_b * bets[1] + (pairs.both + pairs.neither) * bets[2]
    return logsumexp(total, axis=1) - math.log(NODES)
