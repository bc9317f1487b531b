"""How large a difference is, in numbers that do not grow with the number of trials; and who wins where."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from proctor.stats.intervals import check_count


@dataclass(frozen=True, slots=True)
class RateEffect:
    """Of rate a against rate b. `odds_ratio` has half a trial added to every count (Haldane, Anscombe), so that it is
    finite; `cohens_h` is the difference of the angles 2 asin(sqrt(rate)): 0.2 is small, 0.5 medium, 0.8 large."""

    risk_difference: float
    odds_ratio: float
    cohens_h: float


class TaskScore(NamedTuple):
    """Pairs of trials on one task that a won, b won, and that were tied; `difference` is the mean of a minus b."""

    wins: int
    losses: int
    ties: int
    difference: float


def rate_effect(successes_a: int, n_a: int, successes_b: int, n_b: int) -> RateEffect | None:
    """The effect sizes of two rates; None where an arm has no trial."""
    check_count(successes_a, n_a)
    check_count(successes_b, n_b)
    if min(n_a, n_b) == 0:
        return None
    a, b = successes_a / n_a, successes_b / n_b
    odds_a = (successes_a + 0.5) / (n_a - successes_a + 0.5)
    odds_b = (successes_b + 0.5) / (n_b - successes_b + 0.5)
    return RateEffect(a - b, odds_a / odds_b, cohens_h(a, b))


def cohens_h(a: float, b: float) -> float:
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


def wins_and_losses(a: Sequence[np.ndarray], b: Sequence[np.ndarray]) -> list[TaskScore]:
    """For each task the pairs that either agent won; the i-th values of a task belong together."""
    found = []
    for x, y in zip(a, b, strict=True):
        x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
        if x.shape != y.shape:
            raise ValueError(f"{len(x)} values against {len(y)} on a task; paired samples have as many of both")
        wins, losses = int(np.count_nonzero(x > y)), int(np.count_nonzero(x < y))
        found.append(TaskScore(wins, losses, len(x) - wins - losses, float((x - y).mean()) if len(x) else math.nan))
    return found
