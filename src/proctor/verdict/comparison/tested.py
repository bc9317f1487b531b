"""One measure of two agents: the estimate, the test and the interval that its kind of data allows.

Pairs of successes: exact McNemar, and Tango's intervals of the tasks, combined. Pairs of scores: sign flips, and
Student's test and interval corrected for skewness. Independent successes: Barnard's, Fisher's or the score test of one
task, permutations within several, and Newcombe's intervals, combined. Independent scores: studentised permutations
(Welch's test for many) and BCa. Where a seed occurs more than once, seeds are what is flipped, permuted and resampled.
Intervals leave out 0 exactly where the test does, and hold no difference that cannot be.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from proctor import stats
from proctor.stats import Units
from proctor.verdict.comparison.model import Difference
from proctor.verdict.estimand import RATE, Measure, differences_within

Both = Sequence[tuple[np.ndarray, np.ndarray]]
"""Of a and b, task by task."""
EQUAL = "every trial of both came to the same"
SINGLE = "an agent has a single seed on a task, which tells nothing of the spread"
NO_PAIR_DIFFERS = "no pair of trials differs"
ROUNDING = 1e-14
"""By which part of two values their difference may be off."""


class NoDifference(NamedTuple):
    reason: str


@dataclass(frozen=True)
class Judged:
    """How one measure is judged."""

    level: float
    n_resamples: int
    seed: int
    looked: bool
    limits: stats.Interval | None

    @property
    def resampling(self) -> stats.Resampling:
        return stats.Resampling(self.n_resamples, self.seed)

    @property
    def flips(self) -> stats.Resampling:
        return stats.Resampling(9_999, self.seed)


def paired(measure: Measure, values: Both, seeds: Both, shares: Sequence[float], rule: Judged) -> Difference:
    """Values of pairs, none of them missing."""
    units = Units.of([_apart(x, y) for x, y in values], [x for x, _ in seeds], shares)
    binary = _binary(measure, values, rule)
    mean_a, mean_b = _means(values, shares)
    limits = RATE if binary else rule.limits
    test, untested = _paired_test(units, values, binary, _reach(mean_a, mean_b, units.mean, limits), rule)
    interval, method, reason = _paired_interval(units, values, shares, limits if binary else None, rule)
    if interval is not None and not binary and limits is not None:
        ends = _limits_of_difference(mean_a, mean_b, limits)
        interval = stats.opened(interval, units.mean, units.count, rule.level, ends)
    interval, method = _settled(interval, method, units.mean, test, rule, limits)
    effects = _rate_effects(mean_a, mean_b) if binary else {}
    if binary:
        counts = stats.discordance(_pooled(values, 0) != 0, _pooled(values, 1) != 0)
        effects["paired_odds_ratio"] = stats.paired_odds_ratio(counts.only_a, counts.only_b)
    elif (d := stats.paired_d(units.sample, _largest(values))) is not None:
        effects["paired_d"] = d
    return Difference(
        measure, mean_a, mean_b, units.mean, interval, method, reason, test, untested, None, effects,
        pooled=units.pooled, units=units.count, skewness=units.skewness(), sample=units.sample,
    )  # fmt: skip


def _paired_test(
    units: Units, values: Both, binary: bool, reach: float | None, rule: Judged
) -> tuple[stats.TestResult | None, str | None]:
    if not units.sums.any():
        return None, NO_PAIR_DIFFERS
    if rule.looked:
        return stats.always_valid(units.sums), None
    moves = np.abs(units.sums[units.sums != 0])
    if binary and not units.clustered and np.ptp(moves) <= 1e-9 * moves[0]:
        counts = stats.discordance(_pooled(values, 0) != 0, _pooled(values, 1) != 0)
        return stats.mcnemar(counts.only_a, counts.only_b), None
    return stats.paired_test(units, rule.flips, None if binary else reach), None


def _paired_interval(
    units: Units, values: Both, shares: Sequence[float], binary: stats.Interval | None, rule: Judged
) -> tuple[stats.Interval | None, str, str | None]:
    if binary is not None:
        counts = [stats.discordance(x != 0, y != 0) for x, y in values]
        parts = [((c.only_a - c.only_b) / c.n, own) for c in counts if (own := stats.tango(c, rule.level)) is not None]
        found = stats.combined(parts, shares, units.design_effect)
        return found, "Tango's score interval" + _combined(len(parts), units), None
    if (reason := units.obstacle(rule.limits is not None)) is not None:
        return None, "none", reason.value
    found = stats.skewed_interval(units.sample, rule.level)
    method = f"Student's interval of {'seeds' if units.clustered else 'pairs'}, corrected for skewness"
    if found is None or found.width == 0:
        return None, "none", (stats.NoInterval.SINGLE_VALUE if units.count < 2 else stats.NoInterval.EQUAL).value
    return found, method, None


def unpaired(measure: Measure, values: Both, seeds: Both, shares: Sequence[float], rule: Judged) -> Difference:
    """Values of independent trials, none of them missing."""
    left, right = (Units.of([v[i] for v in values], [s[i] for s in seeds], shares) for i in (0, 1))
    binary = _binary(measure, values, rule)
    test, untested = _unpaired_test(left, right, values, binary, rule)
    interval, method, reason = _unpaired_interval(left, right, values, shares, binary, rule)
    mean_a, mean_b = left.mean, right.mean
    interval, method = _settled(interval, method, mean_a - mean_b, test, rule, RATE if binary else rule.limits)
    effects = _rate_effects(mean_a, mean_b) if binary else {}
    a, b = _pooled(values, 0), _pooled(values, 1)
    if binary:
        effects["odds_ratio"] = stats.odds_ratio(int(a.sum()), len(a), int(b.sum()), len(b))
    elif (delta := stats.cliffs_delta(a, b)) is not None:
        effects["cliffs_delta"] = delta
    skewed = max(left.skewness(), right.skewness(), key=abs)
    return Difference(
        measure, mean_a, mean_b, mean_a - mean_b, interval, method, reason, test, untested, None, effects,
        pooled=left.pooled - right.pooled, units=min(left.count, right.count), skewness=skewed,
    )  # fmt: skip


def _unpaired_test(
    left: Units, right: Units, values: Both, binary: bool, rule: Judged
) -> tuple[stats.TestResult | None, str | None]:
    if np.ptp(np.concatenate([_pooled(values, 0), _pooled(values, 1)])) == 0:
        return None, EQUAL
    if rule.looked:
        n = min(left.count, right.count)
        return stats.always_valid(left.sample[:n] - right.sample[:n]), None
    if binary and len(values) == 1 and not (left.clustered or right.clustered):
        ((x, y),) = values
        return stats.compare_rates(int(x.sum()), len(x), int(y.sum()), len(y)), None
    test = stats.unpaired_test(left, right, rule.flips)
    return test, None if test is not None else SINGLE


def _unpaired_interval(
    left: Units, right: Units, values: Both, shares: Sequence[float], binary: bool, rule: Judged
) -> tuple[stats.Interval | None, str, str | None]:
    if binary:
        counts = [(int(x.sum()), len(x), int(y.sum()), len(y)) for x, y in values]
        parts = [
            (c[0] / c[1] - c[2] / c[3], own) for c in counts if (own := stats.newcombe(*c, rule.level)) is not None
        ]
        wider = max(left.design_effect, right.design_effect)
        found = stats.combined(parts, shares, wider)
        return found, "Newcombe's interval" + _combined(len(parts), left), None
    for own in (left, right):
        if (reason := own.obstacle(bounded=True)) is not None:
            return None, "none", reason.value
    if left.n + right.n > stats.LARGE:
        found = stats.welch_interval(left, right, rule.level)
        return (found, "Welch's interval", None) if found else (None, "none", stats.NoInterval.EQUAL.value)
    a, b = left.strata, right.strata
    if len(a) != len(b):
        a, b = [left.sample], [right.sample]
    made = stats.bootstrap_difference(a, b, level=rule.level, resampling=rule.resampling, paired=False)
    if made.interval is None:
        return None, "none", (made.reason or stats.NoInterval.EQUAL).value
    return made.interval, "BCa bootstrap" + (" of seeds" if left.clustered else ""), None


def _means(values: Both, shares: Sequence[float]) -> tuple[float, float]:
    means = [sum(w * float(v[i].mean()) for w, v in zip(shares, values, strict=True)) for i in (0, 1)]
    return means[0], means[1]


def _pooled(values: Both, side: int) -> np.ndarray:
    return np.concatenate([own[side] for own in values])


def _largest(values: Both) -> float:
    return max(float(np.abs(side).max()) for both in values for side in both)


def _binary(measure: Measure, values: Both, rule: Judged) -> bool:
    """Successes are rates, and scores that are all 0 or 1 where these are what scores lie within."""
    rates = measure == "success" or rule.limits == RATE
    return rates and all(np.isin(side, (0.0, 1.0)).all() for both in values for side in both)


def _rate_effects(rate_a: float, rate_b: float) -> dict[str, float]:
    return {"risk_difference": rate_a - rate_b, "cohens_h": stats.cohens_h(rate_a, rate_b)}


def _reach(mean_a: float, mean_b: float, gap: float, limits: stats.Interval | None) -> float | None:
    """How far to the other side a single difference can lie: the better agent at its worst, or the other at its
    best."""
    if limits is None:
        return None
    better, worse = (mean_a, mean_b) if gap > 0 else (mean_b, mean_a)
    return max(worse - limits.low, limits.high - better)


def _limits_of_difference(mean_a: float, mean_b: float, limits: stats.Interval) -> stats.Interval:
    """Between what differences of these two lie, with one of them at a limit."""
    low = min(limits.low - mean_b, mean_a - limits.high)
    return stats.Interval(low, max(limits.high - mean_b, mean_a - limits.low))


def _combined(tasks: int, units: Units) -> str:
    wider = ", wider by shared seeds" if units.clustered else ""
    return (f" of {tasks} tasks, combined" if tasks > 1 else "") + wider


def _apart(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """x - y, and 0 where that is a rounding error of the two."""
    gap = x - y
    return np.where(np.abs(gap) <= ROUNDING * np.maximum(np.abs(x), np.abs(y)), 0.0, gap)


def _settled(
    interval: stats.Interval | None,
    method: str,
    value: float,
    test: stats.TestResult | None,
    rule: Judged,
    limits: stats.Interval | None,
) -> tuple[stats.Interval | None, str]:
    """The interval in step with the test and within what differences can be, and its method's name."""
    if interval is None:
        return None, method
    made = interval if test is None else stats.in_step(interval, value, test, rule.level, opened_only=rule.looked)
    return stats.within(
        made, differences_within(limits)
    ), method if made == interval else f"{method}, in step with the test"
