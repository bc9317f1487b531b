"""Bootstrap intervals: BCa, with the width that few values need, or a reason why there is none.

BCa shifts the quantiles that are read off the resamples by how far the estimate is off their median, and by how
skewed the influence of the values is. A resample varies less than a sample, by (n - 1) / n within a stratum, and a
normal quantile is too short for few values; both are made up for by reading quantiles further out (Hesterberg 2015).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import NormalDist

import numpy as np

from proctor.stats.aggregates import MEAN, Aggregate
from proctor.stats.intervals import Interval, check_level, t_quantile
from proctor.stats.resampling import Pooled, Resampling, replicates

NORMAL = NormalDist()
MANY = 2_000
"""Values of a mean above which BCa's expansion takes the place of resamples. What it leaves out is then far less than
2,000 resamples are off by chance."""
EXPANSION = "BCa expansion"


class NoInterval(StrEnum):
    """Why there is no bootstrap interval."""

    NO_VALUES = "there are no values"
    MISSING = "some trials have no value, and the others are another sample"
    SINGLE_VALUE = "a task has a single value, which tells nothing about its spread"
    SINGLE_TASK = "there is a single task, which tells nothing about other tasks"
    EQUAL = "all values are equal, and resampling them shows nothing of what else could happen"
    EQUAL_TASK = "all values of a task are equal, which tells nothing about its spread"
    CONSTANT = "every resample gives the same number, though the values differ"


@dataclass(frozen=True, slots=True)
class Estimate:
    """An aggregate of `n` values. `interval` is None exactly where `reason` says why. `n_missing` counts values that
    were NaN; with any, there is no value."""

    value: float | None
    n: int
    interval: Interval | None
    reason: NoInterval | None = None
    n_missing: int = 0
    method: str = "BCa bootstrap"


def bootstrap(
    strata: Sequence[np.ndarray],
    aggregate: Aggregate = MEAN,
    level: float = 0.95,
    resampling: Resampling | None = None,
) -> Estimate:
    """The aggregate with its BCa interval. One stratum is one task; empty strata are left out."""
    check_level(level)
    resampling = resampling or Resampling()
    kept = [np.asarray(values, dtype=np.float64) for values in strata if len(values)]
    missing = _missing(kept)
    n = sum(map(len, kept)) - missing
    value = None if missing or not kept else aggregate.of(kept)
    reason = obstacle([kept], resampling)
    if value is None or reason is not None:
        return Estimate(value, n, None, reason, missing)
    samples = replicates(kept, aggregate, resampling)
    interval = bca_interval(samples, value, level, _skew([(kept, aggregate)], resampling), stretch(kept, resampling))
    if interval is not None and aggregate.kind == "task_median":
        interval = _with_error(interval, samples, value, level, stretch(kept, resampling))
    return Estimate(value, n, interval, None if interval else NoInterval.CONSTANT)


def _with_error(
    interval: Interval, samples: np.ndarray, value: float, level: float, further: tuple[float, float]
) -> Interval:
    """At least Student's interval with the standard error of the resamples. A median jumps from task to task, which
    quantiles of resamples alone do not make up for: they held it in 85 to 94 % of samples."""
    half = further[0] * t_quantile(further[1], 0.5 + level / 2) * float(samples.std(ddof=1))
    return Interval(min(interval.low, value - half), max(interval.high, value + half))


def bootstrap_difference(
    a: Sequence[np.ndarray],
    b: Sequence[np.ndarray],
    aggregate: Aggregate = MEAN,
    level: float = 0.95,
    resampling: Resampling | None = None,
    *,
    paired: bool,
) -> Estimate:
    """Aggregate of a minus aggregate of b on the same tasks, with its BCa interval. Paired: the i-th values of a task
    belong together and are drawn together. `n` counts pairs; unpaired, the values of both."""
    check_level(level)
    resampling = resampling or Resampling()
    left, right = same_tasks(a, b, paired)
    missing = _missing(left) + _missing(right)
    n = sum(map(len, left)) + (0 if paired else sum(map(len, right)))
    value = None if missing or not left else aggregate.of(left) - aggregate.of(right)
    spread = [[x - y for x, y in zip(left, right, strict=True)]] if paired and not missing else [left, right]
    reason = obstacle(spread, resampling)
    if value is None or reason is not None:
        return Estimate(value, n, None, reason, missing)
    samples = replicates(left, aggregate, resampling) - replicates(right, aggregate, resampling, second=not paired)
    skew = _skew([(left, aggregate), (right, aggregate)], resampling, paired)
    further = stretch(left if paired else [*left, *right], resampling)
    interval = bca_interval(samples, value, level, skew, further)
    return Estimate(value, n, interval, None if interval else NoInterval.CONSTANT)


def bootstrap_mean(strata: Sequence[np.ndarray], level: float = 0.95, resampling: Resampling | None = None) -> Estimate:
    """`bootstrap` of the pooled mean; of more than MANY values by BCa's expansion instead of resamples."""
    kept = [np.asarray(values, dtype=np.float64) for values in strata if len(values)]
    n = sum(map(len, kept))
    if n <= MANY or obstacle([kept], Resampling()) is not None:
        return bootstrap(kept, MEAN, level, resampling)
    return Estimate(MEAN.of(kept), n, mean_expansion(kept, level), method=EXPANSION)


def mean_expansion(strata: Sequence[np.ndarray], level: float) -> Interval:
    """BCa's ends for a stratified mean to second order (Efron 1987): mean + s (z + a (2 z^2 + 1)), with z as in
    `bca_interval`, the standard error s and the acceleration a."""
    check_level(level)
    pooled, resampling = Pooled.of(strata), Resampling()
    influence = MEAN.influence(pooled.values)
    assert influence is not None
    error = math.sqrt(float((_centred(influence, pooled, tasks_too=False) ** 2).sum()))
    skew, (factor, freedom) = _skew([(strata, MEAN)], resampling), stretch(strata, resampling)
    z, mean = factor * t_quantile(freedom, 0.5 + level / 2), MEAN.of(strata)
    low, high = (mean + error * (end + skew * (2 * z * z + 1)) for end in (-z, z))
    return Interval(low, high)


def bca_interval(
    samples: np.ndarray, value: float, level: float, skew: float, further: tuple[float, float] = (1.0, math.inf)
) -> Interval | None:
    """Ends by BCa. `skew` is the acceleration; `further` a factor on quantiles of Student's distribution, and its
    degrees of freedom. None where all samples are equal up to rounding: the interval would have width 0."""
    if np.ptp(samples) <= 1e-12 * max(1.0, float(np.abs(samples).max())):
        return None
    below = (np.count_nonzero(samples < value) + np.count_nonzero(samples <= value)) / 2
    share = min(max(below, 0.5), len(samples) - 0.5) / len(samples)
    shift, factor = NORMAL.inv_cdf(share), further[0] * t_quantile(further[1], 0.5 + level / 2)
    points = [NORMAL.cdf(_moved(shift, shift + z, skew)) for z in (-factor, factor)]
    low, high = np.quantile(samples, points)
    return Interval(float(low), float(high)) if low < high else None


def _moved(shift: float, moved: float, skew: float) -> float:
    """BCa's map; beyond its pole it is at infinity."""
    scale = 1 - skew * moved
    return shift + moved / scale if scale > 0 else math.copysign(math.inf, moved)


def _missing(strata: Sequence[np.ndarray]) -> int:
    return int(sum(np.isnan(values).sum() for values in strata))


def obstacle(samples: Sequence[Sequence[np.ndarray]], resampling: Resampling) -> NoInterval | None:
    """What stands in the way of resampling, before it is tried."""
    strata = [values for sample in samples for values in sample]
    if not strata:
        return NoInterval.NO_VALUES
    if _missing(strata):
        return NoInterval.MISSING
    if resampling.tasks_too:
        pooled = np.concatenate(strata)
        if len(samples[0]) < 2:
            return NoInterval.SINGLE_TASK
        return NoInterval.EQUAL if np.ptp(pooled) == 0 else None
    if any(len(values) < 2 for values in strata):
        return NoInterval.SINGLE_VALUE
    return NoInterval.EQUAL if all(np.ptp(values) == 0 for values in strata) else None


def same_tasks(
    a: Sequence[np.ndarray], b: Sequence[np.ndarray], paired: bool
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Both samples as arrays, without the tasks that neither has."""
    if len(a) != len(b):
        raise ValueError(f"{len(a)} tasks against {len(b)}; both samples need one array per task, in one order")
    both = [(np.asarray(x, float), np.asarray(y, float)) for x, y in zip(a, b, strict=True) if len(x) or len(y)]
    for x, y in both:
        if paired and len(x) != len(y):
            raise ValueError(f"{len(x)} values against {len(y)} on a task; paired samples have as many of both")
        if not len(x) or not len(y):
            raise ValueError("a task has values in one sample only; leave it out of both")
    return [x for x, _ in both], [y for _, y in both]


Sample = tuple[Sequence[np.ndarray], Aggregate]


def _skew(samples: Sequence[Sample], resampling: Resampling, paired: bool = False) -> float:
    """BCa's acceleration, from the influence of the values (of whole tasks, where tasks are drawn) within strata; 0
    where the aggregate is not smooth. The second sample counts negatively."""
    parts: list[np.ndarray] = []
    for sign, (strata, aggregate) in zip((1, -1), samples, strict=False):
        pooled = Pooled.of(strata)
        influence = aggregate.influence(pooled.values)
        if influence is None:
            return 0.0
        parts.append(sign * _centred(influence, pooled, resampling.tasks_too))
    together = paired or resampling.tasks_too
    moves = sum(parts[1:], parts[0]) if together else np.concatenate(parts)
    squares = float((moves**2).sum())
    return float((moves**3).sum()) / (6 * squares**1.5) if squares > 0 else 0.0


def _centred(influence: np.ndarray, pooled: Pooled, tasks_too: bool) -> np.ndarray:
    """Moves of the aggregate by single values within their tasks, or by whole tasks."""
    sums = np.add.reduceat(influence, pooled.offsets[:-1])
    if tasks_too:
        return (sums - influence.mean() * pooled.sizes) / len(influence)
    return (influence - np.repeat(sums / pooled.sizes, pooled.sizes)) / len(influence)


def stretch(strata: Sequence[np.ndarray], resampling: Resampling) -> tuple[float, float]:
    """How much further out than a normal quantile to read: a factor, and degrees of freedom."""
    units = len(strata) if resampling.tasks_too else sum(map(len, strata))
    freedom = units - (1 if resampling.tasks_too else len(strata))
    return math.sqrt(units / freedom), freedom
