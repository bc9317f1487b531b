"""Intervals that have a formula: for a rate, for a difference of two rates, for a mean, and the bounds that missing
trials leave open."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

MANY = 1000
ROUNDING = 1e-9
"""By which part of the largest of them equal values may differ for having been added up step by step."""


class Interval(NamedTuple):
    low: float
    high: float

    @property
    def width(self) -> float:
        return self.high - self.low


class Discordance(NamedTuple):
    """Paired outcomes of a and b, counted: both succeeded, only a, only b, neither."""

    both: int
    only_a: int
    only_b: int
    neither: int

    @property
    def n(self) -> int:
        return sum(self)


def check_level(level: float) -> None:
    if not 0 < level < 1:
        raise ValueError(f"a level of {level:g}; it lies between 0 and 1, 0.95 for instance")


def check_alpha(alpha: float) -> None:
    if not 0 < alpha < 1:
        raise ValueError(f"an error rate of {alpha:g}; it lies between 0 and 1, 0.05 for instance")


def check_count(successes: int, n: int) -> None:
    if not 0 <= successes <= n:
        raise ValueError(f"{successes} successes in {n} trials")


def wilson(successes: int, n: int, level: float = 0.95) -> Interval | None:
    """Wilson's score interval for a rate. Its width is never 0, not at 0 and not at n successes; None for n =
    0."""
    check_count(successes, n)
    check_level(level)
    if n == 0:
        return None
    z = NormalDist().inv_cdf(0.5 + level / 2)
    rate, z2 = successes / n, z * z
    centre = (rate + z2 / (2 * n)) / (1 + z2 / n)
    half = z / (1 + z2 / n) * math.sqrt(rate * (1 - rate) / n + z2 / (4 * n * n))
    low = 0.0 if successes == 0 else centre - half
    high = 1.0 if successes == n else centre + half
    return Interval(low, high)


def newcombe(successes_a: int, n_a: int, successes_b: int, n_b: int, level: float = 0.95) -> Interval | None:
    """For rate a minus rate b of independent trials, from both Wilson intervals (Newcombe's method 10). Never of width
    0; None where an arm has no trial."""
    a, b = wilson(successes_a, n_a, level), wilson(successes_b, n_b, level)
    if a is None or b is None:
        return None
    rate_a, rate_b = successes_a / n_a, successes_b / n_b
    difference = rate_a - rate_b
    low = difference - math.hypot(rate_a - a.low, b.high - rate_b)
    return Interval(max(-1.0, low), min(1.0, difference + math.hypot(a.high - rate_a, rate_b - b.low)))


def tango(pairs: Discordance, level: float = 0.95) -> Interval | None:
    """For rate a minus rate b of paired trials: the differences that the score test does not reject (Tango 1998).
    Never of width 0; None without pairs."""
    check_level(level)
    if min(pairs) < 0:
        raise ValueError(f"counts of pairs are not negative: {tuple(pairs)}")
    if pairs.n == 0:
        return None
    z = NormalDist().inv_cdf(0.5 + level / 2)
    high = _highest_difference(pairs.only_a, pairs.only_b, pairs.n, z)
    return Interval(-_highest_difference(pairs.only_b, pairs.only_a, pairs.n, z), high)


def _highest_difference(b: int, c: int, n: int, z: float) -> float:
    """The largest difference that is within z of what was seen. The score falls as the difference grows."""
    if b == n:
        return 1.0
    low, high = (b - c) / n, 1.0
    for _ in range(60):
        centre = (low + high) / 2
        low, high = (centre, high) if tango_score(b, c, n, centre) > -z else (low, centre)
    return (low + high) / 2


def tango_score(b: int, c: int, n: int, difference: float) -> float:
    """How many standard errors what was seen lies above `difference`, with the variance that is likeliest under it."""
    middle = (2 * n - b + c) * difference - b - c
    root = math.sqrt(max(0.0, middle * middle + 8 * n * c * difference * (1 - difference)))
    only_b = (root - middle) / (4 * n)
    variance = n * (2 * only_b + difference * (1 - difference))
    above = b - c - n * difference
    if variance <= 0:
        return 0.0 if above == 0 else math.copysign(math.inf, above)
    return above / math.sqrt(variance)


def flat(values: np.ndarray, size: float = 0.0) -> bool:
    """Whether values do not vary, up to rounding errors of numbers of their size, or of `size` where they were computed
    from larger ones; fewer than two do not."""
    return len(values) < 2 or bool(np.ptp(values) <= ROUNDING * max(size, float(np.abs(values).max())))


def student_t(values: np.ndarray, level: float = 0.95) -> Interval | None:
    """Student's interval for the mean of at least two values; None for fewer. Equal values give width 0."""
    check_level(level)
    if len(values) < 2:
        return None
    mean = float(np.mean(values))
    half = t_quantile(len(values) - 1, 0.5 + level / 2) * float(np.std(values, ddof=1)) / math.sqrt(len(values))
    return Interval(mean - half, mean + half)


def t_quantile(freedom: float, p: float) -> float:
    """Of Student's distribution. From a thousand degrees of freedom on by its expansion around the normal one, for
    which nothing large must be imported."""
    if freedom < MANY:
        from scipy.special import stdtrit

        return float(stdtrit(freedom, p))
    z = NormalDist().inv_cdf(p)
    terms = (
        z,
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return sum(term / freedom**k for k, term in enumerate(terms))


def rate_bounds(successes: int, scored: int, unscored: int) -> Interval | None:
    """The rate if every unscored trial had failed, and if every one had succeeded; None without trials."""
    total = scored + unscored
    return Interval(successes / total, (successes + unscored) / total) if total else None
