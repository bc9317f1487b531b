"""Intervals of bounded numbers that are no plain means: what becomes of them when one unit is left out (the
jackknife).

Units are what another sample would have others of: draws of a prior, wordings, success trials, tasks. Tasks are held
fixed wherever there is something within them to vary.

A cosine lies between -1 and 1, and so does what it is compared with. The interval is made where numbers have no ends,
on the scale log((x - low) / (high - x)), and brought back, so it lies within the range of what it bounds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from proctor.stats import Interval, NoInterval, bootstrap
from proctor.stats.intervals import t_quantile
from proctor.stats.resampling import Resampling

JACKKNIFE = "jackknife on the logit scale of its range, Student's quantile"
BOOTSTRAP = "BCa bootstrap within tasks"
AT_THE_END = "the value is at the end of its range"

Spread = tuple[Interval | None, str | None]
"""An interval, or why there is none."""
Range = tuple[float, float]
"""The least and the largest that a number can be; the latter may be infinite."""
COSINE: Range = (-1.0, 1.0)


def jackknife(value: float, parts: Sequence[np.ndarray], level: float, within: Range) -> Spread:
    """The interval of a mean over strata, inside `within`. Each of `parts` has a stratum's value with each of its units
    left out; strata of fewer than two units, or with NaN, have none."""
    if not parts or any(len(part) < 2 or not np.isfinite(part).all() for part in parts):
        return None, "a task has too few units to leave one out"
    variance = sum((len(p) - 1) / len(p) * float(((p - p.mean()) ** 2).sum()) for p in parts) / len(parts) ** 2
    return around(value, math.sqrt(variance), (sum(len(p) - 1 for p in parts), level), within)


def mean_interval(values: np.ndarray, level: float, within: Range) -> Spread:
    """Student's interval of a mean, inside `within`."""
    n = len(values)
    if n < 2:
        return None, "a single success"
    return around(float(values.mean()), float(values.std(ddof=1)) / math.sqrt(n), (n - 1, level), within)


def around(value: float, error: float, quantile: tuple[float, float], within: Range) -> Spread:
    """`value` with so many standard errors to either side as Student's distribution says, of `quantile`: degrees of
    freedom and level. Both the value and the ends are carried to the scale without ends and back."""
    if error <= 1e-12 * max(1.0, abs(value)):
        return None, NoInterval.EQUAL.value
    low, high = within
    below, above = value - low, high - value
    if min(below, above) <= 1e-12:
        return None, AT_THE_END
    half = t_quantile(quantile[0], 0.5 + quantile[1] / 2) * error
    if math.isinf(high):
        ends = (low + below * math.exp(_bounded(end)) for end in (-half / below, half / below))
        return Interval(*ends), None
    place, step = math.log(below / above), half * (high - low) / (below * above)
    ends = (low + (high - low) / (1 + math.exp(-_bounded(end))) for end in (place - step, place + step))
    return Interval(*ends), None


def _bounded(exponent: float) -> float:
    return min(max(exponent, -700.0), 700.0)


def stratified(strata: Sequence[np.ndarray], level: float, seed: int) -> Spread:
    """The BCa interval of the mean over strata of their means, by resampling within strata. No stratum is empty. Its
    ends are quantiles of means of the values, so it lies within their range."""
    total = sum(map(len, strata))
    weighted = [values * (total / (len(strata) * len(values))) for values in strata]
    found = bootstrap(weighted, level=level, resampling=Resampling(seed=seed))
    if found.interval is None:
        return None, None if found.reason is None else found.reason.value
    least, most = min(float(own.min()) for own in strata), max(float(own.max()) for own in strata)
    ends = (min(max(end, least), most) for end in found.interval)  # their weights round
    return Interval(*ends), None
