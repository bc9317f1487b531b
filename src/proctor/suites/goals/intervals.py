"""Intervals of numbers that are no plain means: what becomes of them when one unit is left out (the jackknife).

Units are what another sample would have others of: draws of a prior, wordings, success trials, tasks. Tasks are held
fixed wherever there is something within them to vary.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from proctor.stats import Interval, NoInterval, bootstrap
from proctor.stats.intervals import t_quantile
from proctor.stats.resampling import Resampling

JACKKNIFE = "jackknife, Student's quantile"
BOOTSTRAP = "BCa bootstrap within tasks"

Spread = tuple[Interval | None, str | None]
"""An interval, or why there is none."""


def jackknife(value: float, parts: Sequence[np.ndarray], level: float) -> Spread:
    """The interval of a mean over strata. Each of `parts` has a stratum's value with each of its units left out; strata
    of fewer than two units, or with NaN, have none."""
    if not parts or any(len(part) < 2 or not np.isfinite(part).all() for part in parts):
        return None, "a task has too few units to leave one out"
    variance = sum((len(p) - 1) / len(p) * float(((p - p.mean()) ** 2).sum()) for p in parts) / len(parts) ** 2
    if variance <= 1e-24 * max(1.0, value * value):
        return None, NoInterval.EQUAL.value
    half = t_quantile(sum(len(p) - 1 for p in parts), 0.5 + level / 2) * math.sqrt(variance)
    return Interval(value - half, value + half), None


def stratified(strata: Sequence[np.ndarray], level: float, seed: int) -> Spread:
    """The BCa interval of the mean over strata of their means, by resampling within strata. No stratum is empty."""
    total = sum(map(len, strata))
    weighted = [values * (total / (len(strata) * len(values))) for values in strata]
    found = bootstrap(weighted, level=level, resampling=Resampling(seed=seed))
    return found.interval, None if found.reason is None else found.reason.value
