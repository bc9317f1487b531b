"""One seeded, vectorised, stratified bootstrap.

Resampling is within each stratum (a task), so a replicate has as many values of every stratum as the data.
Each stratum draws from a stream of its own, in replicate order: memory stays bounded by chunks, and the chunk
size changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from proctor.stats.intervals import Interval

CHUNK_VALUES = 1 << 20
"""Resampled values in memory at once."""

Statistic = Callable[[np.ndarray], np.ndarray]
"""From resampled data `(replicates, n)`, strata side by side, to one value per replicate."""


@dataclass(frozen=True, slots=True)
class BootstrapMean:
    """`interval` is None where it is not available: no value, or a stratum with only one. `degenerate`: the
    values within each stratum are equal, so the interval has width 0 and says nothing about the next trial.
    `n_missing` counts values that were NaN; with any, there is neither mean nor interval."""

    mean: float | None
    n: int
    n_missing: int
    interval: Interval | None
    degenerate: bool


def row_means(data: np.ndarray) -> np.ndarray:
    return data.mean(axis=1)


def replicates(
    strata: Sequence[np.ndarray],
    statistic: Statistic,
    n_resamples: int,
    rng: np.random.Generator,
    chunk_values: int = CHUNK_VALUES,
) -> np.ndarray:
    """The statistic of `n_resamples` stratified resamples, `(n_resamples,)`. `strata` must not be empty."""
    streams = rng.spawn(len(strata))
    rows = max(1, chunk_values // sum(len(values) for values in strata))
    out = np.empty(n_resamples)
    for start in range(0, n_resamples, rows):
        size = min(rows, n_resamples - start)
        drawn = [
            values[stream.integers(len(values), size=(size, len(values)), dtype=np.int32)]
            for values, stream in zip(strata, streams, strict=True)
        ]
        out[start : start + size] = statistic(np.concatenate(drawn, axis=1))
    return out


def percentile_interval(samples: np.ndarray, level: float) -> Interval:
    low, high = np.quantile(samples, [0.5 - level / 2, 0.5 + level / 2])
    return Interval(float(low), float(high))


def bootstrap_mean(
    values_by_stratum: Sequence[np.ndarray],
    level: float = 0.95,
    n_resamples: int = 2000,
    rng: np.random.Generator | None = None,
) -> BootstrapMean:
    """The pooled mean with its percentile interval. Empty strata are left out. `rng` None: a generator with
    seed 0."""
    strata = [np.asarray(values, dtype=np.float64) for values in values_by_stratum if len(values)]
    pooled = np.concatenate(strata) if strata else np.empty(0)
    missing = int(np.isnan(pooled).sum())
    if not pooled.size or missing:
        return BootstrapMean(None, pooled.size - missing, missing, None, False)
    mean = float(pooled.mean())
    if any(len(values) < 2 for values in strata):
        return BootstrapMean(mean, pooled.size, 0, None, False)
    if all(np.ptp(values) == 0 for values in strata):
        return BootstrapMean(mean, pooled.size, 0, Interval(mean, mean), True)
    samples = replicates(strata, row_means, n_resamples, rng or np.random.default_rng(0))
    return BootstrapMean(mean, pooled.size, 0, percentile_interval(samples, level), False)
