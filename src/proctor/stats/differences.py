"""Tests of a difference of weighted means that hold up for small, skewed, unequal and clustered samples, and how large
a difference is, in numbers that do not grow with the number of trials."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from proctor.stats.intervals import Interval, check_count, check_level, flat
from proctor.stats.resampling import Resampling
from proctor.stats.significance import TestResult, sign_flip
from proctor.stats.units import Units

PERMUTED = 400
"""Values up to which labels are permuted; with more, Welch's approximation is as good."""
SKEWED_TEST = "Student's test corrected for skewness"
MOST_P = 0.6
"""A larger p says no more of how far the value is from 0."""
NORMAL = NormalDist()


def paired_test(units: Units, resampling: Resampling | None = None, reach: float | None = None) -> TestResult | None:
    """Whether paired differences average 0: the larger of two p-values. Sign flips are exact where the agents are
    alike, and wrong where differences are skewed; Student's test with a correction for skewness allows for that.
    `reach`: how far from 0 a single difference can lie on the other side; then p is also that of an event so rare that
    no unit has seen it. None where every difference is 0: there is nothing to test."""
    if not units.sums.any():
        return None
    flips = sign_flip(units.sums, resampling or Resampling(9_999))
    skewed = skewed_test(units.sample)
    p = max(flips.p_value, skewed.p_value if skewed is not None else 0.0)
    if reach is not None:
        p = max(p, unseen_p(units, reach))
    how = "sign flips" if skewed is None else f"sign flips and {skewed.method}, the larger p"
    return TestResult(min(1.0, p), how + (", by seed" if units.clustered else ""), False, units.mean)


def unseen_p(units: Units, reach: float) -> float:
    """The probability that no unit shows an event so rare, and so far on the other side, that the mean would be 0;
    twice that, because the other side might have been this one."""
    return 2 * math.exp(-units.count * math.log1p(abs(units.mean) / reach)) if reach > 0 else 0.0


def skewed_test(sample: np.ndarray) -> TestResult | None:
    """Whether the mean of a sample is 0, by Student's t statistic after Hall's transformation (Hall 1992), which takes
    the skewness of the sample out of it; None where the values do not vary."""
    if flat(sample):
        return None
    from scipy.special import stdtr

    n, error = len(sample), _error(sample)
    t, bend = float(sample.mean()) / error, _bend(sample)
    straight = t + bend * t**2 / 3 + bend**2 * t**3 / 27 + bend / 6
    return TestResult(2 * float(stdtr(n - 1, -abs(straight))), SKEWED_TEST, False, t)


def skewed_interval(sample: np.ndarray, level: float) -> Interval | None:
    """The means that `skewed_test` does not reject: longer on the side of the longer tail, and never more than three
    times as wide as Student's interval, whatever the values. None where they do not vary."""
    check_level(level)
    if flat(sample):
        return None
    from scipy.special import stdtrit

    mean, error, bend = float(sample.mean()), _error(sample), _bend(sample)
    reach = float(stdtrit(len(sample) - 1, 0.5 + level / 2))
    return Interval(mean - error * _bent(reach, bend), mean - error * _bent(-reach, bend))


def _bent(straight: float, bend: float) -> float:
    """The t statistic that Hall's transformation makes into this one: the inverse of a cubic that always rises."""
    if abs(bend) < 1e-6:
        return straight
    return 3 / bend * (float(np.cbrt(1 + bend * (straight - bend / 6))) - 1)


def _bend(sample: np.ndarray) -> float:
    """The skewness of a sample (corrected for its size) by the root of its size, between -1 and 1."""
    n, moves = len(sample), sample - sample.mean()
    if n < 3:
        return 0.0
    own = float((moves**3).mean()) / float((moves**2).mean()) ** 1.5
    return own * math.sqrt(n - 1) / (n - 2)


def _error(sample: np.ndarray) -> float:
    """The standard error of the mean."""
    return float(sample.std(ddof=1)) / math.sqrt(len(sample))


_LEAST = math.ulp(0.0)
"""The smallest number: so far away is an end that would round to 0, or to the difference itself."""


def in_step(interval: Interval, value: float, test: TestResult, level: float, opened_only: bool = False) -> Interval:
    """An interval of a difference that leaves out 0 exactly where the test does, at the same level. Where an
    approximate interval and an exact test disagree about 0, the end beside it becomes the test's own (Miettinen 1976):
    the value's distance from 0 is as many standard errors as p says. `opened_only`: an end is only moved outwards."""
    found, excluded = test.p_value <= 1 - level + 1e-12, interval.low >= 0 or interval.high <= 0
    if value == 0 or found == excluded or (found and opened_only):
        return interval
    reached, wanted = (-NORMAL.inv_cdf(p / 2) for p in (min(max(test.p_value, 1e-300), MOST_P), 1 - level))
    end = value * (1 - wanted / reached)
    if value < 0:
        return Interval(interval.low, max(end, math.nextafter(value, 0.0)) if found else max(end, _LEAST))
    return Interval(min(end, math.nextafter(value, 0.0)) if found else min(end, -_LEAST), interval.high)


def unpaired_test(a: Units, b: Units, resampling: Resampling | None = None) -> TestResult | None:
    """Whether two weighted means of independent trials on the same tasks differ: labels are permuted within tasks (by
    seed where seeds occur more than once) and the difference is measured in units of its standard error, which allows
    for unequal spread. None where nothing varies, and where an agent has a single unit on a task."""
    left, right, shares = _strata(a, b)
    gap = a.mean - b.mean
    if any(len(values) < 2 for values in (*left, *right)):
        return None
    error, freedom = _standard_error(left, right, shares)
    if error == 0.0 and gap == 0.0:
        return None
    if sum(map(len, left)) + sum(map(len, right)) > PERMUTED:
        return _welch(gap, error, freedom)
    return _permuted(left, right, shares, resampling or Resampling(9_999))


def _strata(a: Units, b: Units) -> tuple[list[np.ndarray], list[np.ndarray], np.ndarray]:
    if a.clustered or b.clustered:
        return [a.sample], [b.sample], np.ones(1)
    return list(a.values), list(b.values), np.array(a.shares)


def _standard_error(left: list[np.ndarray], right: list[np.ndarray], shares: np.ndarray) -> tuple[float, float]:
    """Of the difference, and Welch's degrees of freedom."""
    sides = [(w, v) for side in (left, right) for w, v in zip(shares, side, strict=True)]
    parts = [(w * w * float(v.var(ddof=1)) / len(v), len(v) - 1) for w, v in sides]
    total = sum(square for square, _ in parts)
    below = sum(square * square / freedom for square, freedom in parts)
    return math.sqrt(total), total * total / below if below > 0 else math.inf


def _welch(gap: float, error: float, freedom: float) -> TestResult:
    from scipy.special import stdtr

    p = 2 * float(stdtr(freedom, -abs(gap) / error)) if error > 0 else 0.0
    return TestResult(p, "Welch's test within tasks", False, gap / error if error > 0 else math.copysign(math.inf, gap))


def welch_interval(a: Units, b: Units, level: float) -> Interval | None:
    """For the difference of two weighted means of independent trials, each task and agent with a variance of its own;
    None where one of them has a single unit, or nothing varies."""
    check_level(level)
    from scipy.special import stdtrit

    left, right, shares = _strata(a, b)
    if any(len(values) < 2 for values in (*left, *right)):
        return None
    error, freedom = _standard_error(left, right, shares)
    half = error * float(stdtrit(freedom, 0.5 + level / 2)) if error > 0 else 0.0
    gap = a.mean - b.mean
    return Interval(gap - half, gap + half) if half > 0 else None


def _permuted(
    left: list[np.ndarray], right: list[np.ndarray], shares: np.ndarray, resampling: Resampling
) -> TestResult:
    """The sides come in an order that depends on their values alone, so that swapping them changes no permutation."""
    swapped = b"".join(v.tobytes() for v in left) > b"".join(v.tobytes() for v in right)
    if swapped:
        left, right = right, left
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(resampling.seed, spawn_key=(7,))))
    draws = resampling.n_resamples
    gaps, squares = np.zeros(draws + 1), np.zeros(draws + 1)
    for w, x, y in zip(shares, left, right, strict=True):
        both = np.concatenate([x, y])
        mixed = np.vstack([both, rng.permuted(np.broadcast_to(both, (draws, len(both))), axis=1)])
        one, other = mixed[:, : len(x)], mixed[:, len(x) :]
        gaps += w * (one.mean(axis=1) - other.mean(axis=1))
        squares += w * w * (one.var(axis=1, ddof=1) / len(x) + other.var(axis=1, ddof=1) / len(y))
    scale = float(np.abs(gaps).max()) or 1.0
    flat = squares <= (1e-12 * scale) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(flat, np.where(np.abs(gaps) <= 1e-12 * scale, 0.0, np.inf), np.abs(gaps) / np.sqrt(squares))
    reached = int(np.count_nonzero(t[1:] >= t[0] * (1 - 1e-9)))
    sign = -1.0 if swapped else 1.0
    statistic = sign * math.copysign(float(t[0]), float(gaps[0]))
    return TestResult((1 + reached) / (1 + draws), f"studentised permutation, {draws:,} drawn", False, statistic)


def odds_ratio(successes_a: int, n_a: int, successes_b: int, n_b: int) -> float:
    """The odds of a's successes over those of b's, with half a trial added to every count (Haldane, Anscombe), so that
    it is finite."""
    check_count(successes_a, n_a)
    check_count(successes_b, n_b)
    odds_a = (successes_a + 0.5) / (n_a - successes_a + 0.5)
    return odds_a / ((successes_b + 0.5) / (n_b - successes_b + 0.5))


def cohens_h(a: float, b: float) -> float:
    """The difference of the angles 2 asin(sqrt(rate)): 0.2 is small, 0.5 medium, 0.8 large."""
    return 2 * math.asin(math.sqrt(a)) - 2 * math.asin(math.sqrt(b))


def paired_odds_ratio(only_a: int, only_b: int) -> float:
    """The conditional odds ratio of paired outcomes, half a pair added on both sides."""
    return (only_a + 0.5) / (only_b + 0.5)


def paired_d(differences: np.ndarray, size: float = 0.0) -> float | None:
    """The mean of paired differences in units of their standard deviation; None below two, and where they are all
    equal up to rounding errors of the values that were subtracted, which are as large as `size`."""
    values = np.asarray(differences, dtype=np.float64)
    if flat(values, size):
        return None
    return float(values.mean() / values.std(ddof=1))


def cliffs_delta(a: np.ndarray, b: np.ndarray) -> float | None:
    """P(a > b) - P(a < b) for one value of each: 1 where all of a lie above all of b; None where one is empty."""
    a, b = np.asarray(a, dtype=np.float64), np.sort(np.asarray(b, dtype=np.float64))
    if not len(a) or not len(b):
        return None
    below, not_above = np.searchsorted(b, a, side="left"), np.searchsorted(b, a, side="right")
    return float((below + not_above - len(b)).mean() / len(b))
