"""Tests and confidence sequences by betting, which may be looked at after every pair and have no maximum.

Somebody starts with a wealth of 1 and bets on the sign of every difference before it is seen. If no bet favours either
side, the wealth ever reaches 1/alpha with probability at most alpha (Ville's inequality): the largest wealth so far
is evidence, and 1 over it a p-value that holds at every look.

Mixing bets over a prior keeps this exactly. The rates whose wealth is below 1/alpha form a confidence sequence: all its
intervals hold the truth at once with probability 1 - alpha, at every look and every stop. The prior here is the
arcsine's (Krichevsky and Trofimov's), which costs half of log n.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from proctor.stats.intervals import Interval, check_alpha
from proctor.stats.significance import TestResult

STAKES = np.arange(1, 20) / 20
"""Shares of the wealth that are bet; the wealth is shared out among all of them, on both signs alike."""


def always_valid(differences: np.ndarray) -> TestResult:
    """Paired differences in reading order (or differences of independent trials that are paired in plan order): a
    p-value that holds whenever it is looked at, and whenever the trials were stopped because of it.

    It assumes that without a difference every sign is a fair coin, given all magnitudes: true where the two agents
    could be exchanged on every seed. Difference i is bet on in proportion to its magnitude over the largest one up to
    i, so that nothing need be known of their scale. The statistic is the natural logarithm of the largest wealth.
    """
    values = _row(differences)
    if not values.any():
        return TestResult(1.0, "none: no pair differs", True, 0.0)
    largest = max(0.0, float(log_wealth(values).max()))
    return TestResult(float(np.exp(-largest)), "always-valid bets on signs", True, largest)


def log_wealth(differences: np.ndarray) -> np.ndarray:
    """The logarithm of the wealth after each difference; along the last axis of `(..., n)`."""
    values = np.asarray(differences, dtype=np.float64)
    scale = np.maximum.accumulate(np.abs(values), axis=-1)
    shares = np.divide(values, scale, out=np.zeros_like(values), where=scale > 0)
    total = np.full(values.shape, -np.inf)
    for stake in STAKES:
        for sign in (1, -1):
            total = np.logaddexp(total, np.cumsum(np.log1p(sign * stake * shares), axis=-1))
    return total - np.log(2 * len(STAKES))


class SignBets:
    """The bets of `always_valid`, difference by difference."""

    def __init__(self) -> None:
        self._signs = np.concatenate([STAKES, -STAKES])
        self._logs = np.zeros(len(self._signs))
        self._scale = 0.0

    def update(self, difference: float) -> float:
        """The logarithm of the wealth after one more difference."""
        self._scale = max(self._scale, abs(difference))
        if difference:
            self._logs += np.log1p(self._signs * (difference / self._scale))
        return float(np.logaddexp.reduce(self._logs)) - math.log(len(self._logs))

    @property
    def for_a(self) -> bool:
        """Whether the bets that a's values are larger have won more than the others."""
        ahead, behind = np.split(self._logs, 2)
        return bool(np.logaddexp.reduce(ahead) > np.logaddexp.reduce(behind))


def centre_sequence(differences: np.ndarray, alpha: float = 0.05) -> Interval | None:
    """The centre of symmetry of paired differences, in reading order: all centres around which the bets have not won
    1/alpha up to now. Holds the centre at every look with probability 1 - alpha, where the differences are symmetric
    around one. None while there is no end on either side, as with fewer than about eight pairs."""
    check_alpha(alpha)
    values = _row(differences)
    limit = -math.log(alpha)

    def kept(centre: float) -> bool:
        return float(log_wealth(values - centre).max()) < limit

    if not len(values):
        return None
    middle = float(np.median(values))
    far = 1000 * (float(np.ptp(values)) or 1.0)
    if kept(middle - far) or kept(middle + far):
        return None
    starts = [middle, *np.quantile(values, np.linspace(0.05, 0.95, 19)).tolist()]
    inside = next((start for start in starts if kept(start)), None)
    if inside is None:
        return Interval(middle, middle)
    return Interval(_edge(kept, inside, middle - far), _edge(kept, inside, middle + far))


def mean_sequence(values: np.ndarray, low: float, high: float, alpha: float = 0.05) -> Interval:
    """The mean of values that lie between `low` and `high`, in reading order, with nothing else assumed of them: all
    means against which bets have not won 1/alpha (Waudby-Smith and Ramdas 2024). Holds the mean at every look with
    probability 1 - alpha; (low, high) without values, and never of width 0."""
    check_alpha(alpha)
    shares = (_row(values) - low) / (high - low) if high > low else None
    if shares is None or (shares < 0).any() or (shares > 1).any():
        raise ValueError(f"values between {low:g} and {high:g} are needed, and the second must be larger")
    limit = -math.log(alpha)

    def kept(mean: float) -> bool:
        return _mean_wealth(shares, mean) < limit

    inside = _likeliest_mean(shares)
    ends = (_edge(kept, inside, 0.0), _edge(kept, inside, 1.0))
    return Interval(*(low + (high - low) * end for end in ends))


def _mean_wealth(shares: np.ndarray, mean: float) -> float:
    """The logarithm of what bets on a higher and on a lower mean have together; convex, once no longer in logarithms.
    A bet's factor is 1 - stake + stake x / m on the one side, and the same of failures on the other."""
    logs = []
    for of, against in ((shares, mean), (1 - shares, 1 - mean)):
        if against > 0:
            logs.append(np.log(1 - STAKES[:, None] + STAKES[:, None] * (of / against)).sum(axis=1))
        elif (of > 0).any():
            return math.inf
    total = np.concatenate(logs)
    largest = float(total.max())
    return largest + math.log(float(np.exp(total - largest).sum())) - math.log(2 * len(STAKES))


def _likeliest_mean(shares: np.ndarray) -> float:
    """Where the bets have won least, by golden section."""
    low, high, step = 0.0, 1.0, (math.sqrt(5) - 1) / 2
    for _ in range(40):
        left, right = high - step * (high - low), low + step * (high - low)
        lower_left = _mean_wealth(shares, left) <= _mean_wealth(shares, right)
        low, high = (low, right) if lower_left else (left, high)
    return (low + high) / 2


def _edge(kept: Callable[[float], bool], inside: float, outside: float) -> float:
    """Where what is kept ends between a point inside and one outside, from the outside."""
    if kept(outside):
        return outside
    for _ in range(60):
        centre = (inside + outside) / 2
        inside, outside = (centre, outside) if kept(centre) else (inside, centre)
    return outside


def always_valid_rates(a: np.ndarray, b: np.ndarray) -> TestResult:
    """Outcomes of independent trials of a and b, as many of each, in reading order: a p-value that holds at every look
    (Turner, Ly and Grünwald 2024). Each trial of both is bet on as if the rates were those seen before it; a common
    rate would be their mean. Where trials are paired by seed, `always_valid` of the differences is right, and this is
    not. The statistic is the natural logarithm of the largest wealth."""
    a, b = np.asarray(a, dtype=bool), np.asarray(b, dtype=bool)
    if a.shape != b.shape or a.ndim != 1:
        raise ValueError(f"{a.size} outcomes against {b.size}; as many of each are bet on")
    largest = max(0.0, float(log_wealth_rates(a, b).max(initial=0.0)))
    return TestResult(float(np.exp(-largest)), "always-valid bets on two rates", True, largest)


def log_wealth_rates(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The logarithm of the wealth after each trial of both; along the last axis of `(..., n)`."""
    seen = np.arange(a.shape[-1])
    rate_a, rate_b = ((np.cumsum(arm, axis=-1) - arm + 0.5) / (seen + 1) for arm in (a, b))
    common = (rate_a + rate_b) / 2
    gain_a, gain_b = (
        np.log(np.where(arm, rate / common, (1 - rate) / (1 - common))) for arm, rate in ((a, rate_a), (b, rate_b))
    )
    return np.cumsum(gain_a + gain_b, axis=-1)


def _row(values: np.ndarray) -> np.ndarray:
    values = np.asarray(values, dtype=np.float64)
    if values.ndim != 1:
        raise ValueError(f"differences of shape {values.shape}; expected one row of them")
    if not np.isfinite(values).all():
        raise ValueError("differences must be finite; leave out pairs without both values")
    return values


def rate_sequence(successes: np.ndarray, n: np.ndarray, alpha: float = 0.05) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper ends of the confidence sequence for one rate, at each of the looks. (0, 1) for n = 0; never of
    width 0."""
    check_alpha(alpha)
    s, n = np.broadcast_arrays(np.asarray(successes, np.float64), np.asarray(n, np.float64))
    limit = log_limit(s, n, alpha)
    rate = np.divide(s, n, out=np.full(s.shape, 0.5), where=n > 0)
    low = np.where(s == 0, 0.0, _crossing(s, n, limit, rate, 0.0))
    return low, np.where(s == n, 1.0, _crossing(s, n, limit, rate, 1.0))


def log_limit(successes: np.ndarray, n: np.ndarray, alpha: float) -> np.ndarray:
    """The log-likelihood that a rate must exceed to be in the confidence sequence."""
    from scipy.special import betaln

    return betaln(successes + 0.5, n - successes + 0.5) - math.log(math.pi) + math.log(alpha)


def log_likelihood(successes: np.ndarray, n: np.ndarray, rate: np.ndarray) -> np.ndarray:
    from scipy.special import xlog1py, xlogy

    return xlogy(successes, rate) + xlog1py(n - successes, -rate)


def _crossing(s: np.ndarray, n: np.ndarray, limit: np.ndarray, inside: np.ndarray, end: float) -> np.ndarray:
    """Where the log-likelihood falls to `limit` between the observed rate and an end, to the outside."""
    outside, inside = np.full(s.shape, end), inside.copy()
    for _ in range(60):
        centre = (outside + inside) / 2
        kept = log_likelihood(s, n, centre) > limit
        inside, outside = np.where(kept, centre, inside), np.where(kept, outside, centre)
    return outside
