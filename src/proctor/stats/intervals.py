"""Intervals that have a formula: for a rate, for a mean, and the bounds that missing trials leave open."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import NamedTuple

import numpy as np


class Interval(NamedTuple):
    low: float
    high: float


def wilson(successes: int, n: int, level: float = 0.95) -> Interval | None:
    """Wilson's score interval for a rate. Its width is never 0, not at 0 and not at n successes; None for n =
    0."""
    if not 0 <= successes <= n:
        raise ValueError(f"{successes} successes in {n} trials")
    if n == 0:
        return None
    z = NormalDist().inv_cdf(0.5 + level / 2)
    rate, z2 = successes / n, z * z
    centre = (rate + z2 / (2 * n)) / (1 + z2 / n)
    half = z / (1 + z2 / n) * math.sqrt(rate * (1 - rate) / n + z2 / (4 * n * n))
    low = 0.0 if successes == 0 else centre - half
    high = 1.0 if successes == n else centre + half
    return Interval(low, high)


def student_t(values: np.ndarray, level: float = 0.95) -> Interval | None:
    """Student's interval for the mean of at least two values; None for fewer. Equal values give width 0."""
    if len(values) < 2:
        return None
    from scipy.special import stdtrit

    mean = float(np.mean(values))
    half = float(stdtrit(len(values) - 1, 0.5 + level / 2)) * float(np.std(values, ddof=1)) / math.sqrt(len(values))
    return Interval(mean - half, mean + half)


def rate_bounds(successes: int, scored: int, unscored: int) -> Interval | None:
    """The rate if every unscored trial had failed, and if every one had succeeded; None without trials."""
    total = scored + unscored
    return Interval(successes / total, (successes + unscored) / total) if total else None
