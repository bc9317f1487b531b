"""How large a difference is, in numbers that do not grow with the number of trials."""

from __future__ import annotations

import math

import numpy as np

from proctor.stats.intervals import check_count


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


def paired_d(differences: np.ndarray) -> float | None:
    """The mean of paired differences in units of their standard deviation; None below two, and where they are all
    equal."""
    values = np.asarray(differences, dtype=np.float64)
    if len(values) < 2 or np.ptp(values) == 0:
        return None
    return float(values.mean() / values.std(ddof=1))


def cliffs_delta(a: np.ndarray, b: np.ndarray) -> float | None:
    """P(a > b) - P(a < b) for one value of each: 1 where all of a lie above all of b; None where one is empty."""
    a, b = np.asarray(a, dtype=np.float64), np.sort(np.asarray(b, dtype=np.float64))
    if not len(a) or not len(b):
        return None
    below, not_above = np.searchsorted(b, a, side="left"), np.searchsorted(b, a, side="right")
    return float((below + not_above - len(b)).mean() / len(b))
