"""Two small samples of whole units, such as the trained agents of two methods: do their means differ?

The units are what is drawn anew: n counts them, however many trials stand behind each value.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from proctor.stats.intervals import Interval, check_level, t_quantile
from proctor.stats.resampling import Resampling
from proctor.stats.significance import RELATIVE_TIE, TestResult

ALL_SPLITS = 20_000
"""Ways to deal the values out up to which all are tried."""
LEAST = 3
"""Units of each sample from which on Welch's test is used: below, its error rate is not kept."""


def compare_members(
    a: np.ndarray, b: np.ndarray, level: float = 0.95, resampling: Resampling | None = None
) -> tuple[TestResult | None, Interval | None]:
    """Mean of a minus mean of b: a test, and Welch's interval. The test is by permutation, which assumes nothing but
    that units could have been dealt out the other way round; with so few units that it could not reach 1 - level, it
    is Welch's, which takes their values for normal. None where there are too few units for either, and where no value
    differs from another."""
    check_level(level)
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if min(len(a), len(b)) < 2 or np.ptp(np.concatenate([a, b])) == 0:
        return None, None
    if least_p(len(a), len(b)) <= 1 - level + 1e-12:
        return permuted_means(a, b, resampling), welch_means(a, b, level)[1]
    test, interval = welch_means(a, b, level)
    return (test if min(len(a), len(b)) >= LEAST else None), interval


def least_p(n_a: int, n_b: int) -> float:
    """The smallest p-value that a permutation of so many units can have."""
    return (2 if n_a == n_b else 1) / math.comb(n_a + n_b, n_a)


def permuted_means(a: np.ndarray, b: np.ndarray, resampling: Resampling | None = None) -> TestResult:
    """Of all ways to deal the values out to samples of these sizes, the share in which Welch's statistic is as far from
    0 as it is. Above ALL_SPLITS ways, `resampling` says how many are drawn, and with which seed (default 9,999), and
    what was seen counts as one of them. Each sample has at least two values."""
    pooled, seen = np.concatenate([a, b]), float(_statistic(a[None], b[None])[0])
    exact = math.comb(len(pooled), len(a)) <= ALL_SPLITS
    dealt = _all_splits(pooled, len(a)) if exact else _drawn_splits(pooled, resampling or Resampling(9_999))
    reached = np.abs(_statistic(dealt[:, : len(a)], dealt[:, len(a) :])) >= abs(seen) * (1 - RELATIVE_TIE)
    count = int(np.count_nonzero(reached))
    p_value = count / len(dealt) if exact else (1 + count) / (1 + len(dealt))
    drawn = "" if exact else f", {len(dealt):,} drawn"
    return TestResult(p_value, f"permutation of members{drawn}", exact, seen)


def welch_means(a: np.ndarray, b: np.ndarray, level: float = 0.95) -> tuple[TestResult | None, Interval | None]:
    """Welch's test and interval for the difference of two means; None where neither sample varies."""
    from scipy.special import stdtr

    parts = np.array([a.var(ddof=1) / len(a), b.var(ddof=1) / len(b)])
    gap, error = float(a.mean() - b.mean()), math.sqrt(parts.sum())
    if error == 0:
        return None, None
    freedom = float(parts.sum() ** 2 / (parts**2 / [len(a) - 1, len(b) - 1]).sum())
    half = error * t_quantile(freedom, 0.5 + level / 2)
    p_value = 2 * float(stdtr(freedom, -abs(gap) / error))
    return TestResult(p_value, "Welch's test of members", False, gap / error), Interval(gap - half, gap + half)


def _all_splits(pooled: np.ndarray, n_a: int) -> np.ndarray:
    """Every way to deal the values out, `(ways, n)`, those of the first sample first."""
    places = range(len(pooled))
    chosen = np.array(list(itertools.combinations(places, n_a)))
    rest = np.array([[place for place in places if place not in own] for own in map(set, chosen.tolist())])
    return pooled[np.concatenate([chosen, rest], axis=1)]


def _drawn_splits(pooled: np.ndarray, resampling: Resampling) -> np.ndarray:
    generator = np.random.Generator(np.random.PCG64(resampling.seed))
    return generator.permuted(np.tile(pooled, (resampling.n_resamples, 1)), axis=1)


def _statistic(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Welch's statistic of every row; infinite where means differ and nothing varies."""
    gap = a.mean(axis=1) - b.mean(axis=1)
    error = np.sqrt(a.var(axis=1, ddof=1) / a.shape[1] + b.var(axis=1, ddof=1) / b.shape[1])
    scale = np.abs(a).max(axis=1) + np.abs(b).max(axis=1)
    gap, error = (np.where(np.abs(part) <= 1e-12 * scale, 0.0, part) for part in (gap, error))
    large = np.where(gap == 0, 0.0, np.copysign(np.inf, gap))
    return np.divide(gap, error, out=large, where=error > 0)
