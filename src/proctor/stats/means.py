"""One agent's weighted mean over tasks, with the interval that its kind of values allows."""

from __future__ import annotations

import numpy as np

from proctor.stats.bootstrap import Estimate, NoInterval, bootstrap_mean
from proctor.stats.intervals import Interval, wilson
from proctor.stats.resampling import Resampling
from proctor.stats.units import Units, combined, opened, within

RATE = Interval(0.0, 1.0)
WILSON = "wilson"


def is_rate(units: Units) -> bool:
    """Whether every value is 0 or 1."""
    return all(np.isin(values, (0.0, 1.0)).all() for values in units.values)


def rate_interval(units: Units, level: float) -> Interval | None:
    """Wilson's intervals of the tasks, combined; wider where tasks share seeds. Never of width 0; None without
    trials."""
    parts = [
        (float(values.mean()), own)
        for values in units.values
        if (own := wilson(int((values != 0).sum()), len(values), level)) is not None
    ]
    found = combined(parts, units.shares, units.design_effect)
    return within(found, RATE)


def mean_estimate(units: Units, level: float, resampling: Resampling, limits: Interval | None = None) -> Estimate:
    """The weighted mean of scores: values that are all 0 or 1 as a rate, others by the bootstrap of units, opened for
    rare events where scores lie within `limits`. No value may be missing."""
    if is_rate(units) and (limits is None or limits == RATE):
        return Estimate(units.mean, units.n, rate_interval(units, level), method=WILSON)
    found = bootstrap_mean(units.strata, level, resampling)
    if limits is None or found.reason not in (None, NoInterval.EQUAL):
        return Estimate(units.mean, units.n, found.interval, found.reason, method=found.method)
    start = found.interval or Interval(units.mean, units.mean)
    wide = within(opened(start, units.mean, units.count, level, limits), limits)
    return Estimate(units.mean, units.n, wide, method=found.method)
