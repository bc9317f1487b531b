"""All pairs of agents at once: intervals that hold together, Holm's correction, and letters for agents that do not
differ significantly.

The intervals of ten pairs, each of 95 %, hold together in far fewer than 95 % of cases. Here one factor for all of them
is found, by which the standard errors are multiplied: the quantile of the largest |t| of all differences over
resamples of the units that they have in common (seeds, say). What differences share, such as an agent or an easy seed,
makes the factor smaller than Bonferroni's.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from proctor.stats.intervals import Interval, check_level, t_quantile
from proctor.stats.resampling import Resampling

FEWEST_UNITS = 8
"""With fewer, resamples say too little of the tails."""
LEAST_SPREAD = 0.25
"""A resample's standard error is at least this part of the sample's own: a resample that happens to leave out all that
varies would make t as large as one likes, and says nothing."""
CHUNK = 2_000_000
"""Numbers of one block of resamples."""


@dataclass(frozen=True, slots=True)
class Simultaneous:
    """An interval for each difference, in their order; None where its units do not vary or are fewer than two. All of
    them hold at once with probability `level`."""

    intervals: tuple[Interval | None, ...]
    level: float
    method: str


def simultaneous_intervals(
    differences: Sequence[np.ndarray], level: float = 0.95, resampling: Resampling | None = None
) -> Simultaneous:
    """For the mean of each array of unit differences. Where all arrays have the same length, entry i of each belongs to
    unit i (nan: this pair lacks the unit), and units are resampled jointly; else, and with fewer than 8 units,
    Student's intervals at Bonferroni's level are given. For success rates, where few pairs differ, `tango` at level
    1 - (1 - level) / k for k pairs is the better interval."""
    check_level(level)
    arrays = [np.asarray(values, dtype=np.float64) for values in differences]
    if any(values.ndim != 1 or np.isinf(values).any() for values in arrays):
        raise ValueError("differences must be rows of finite numbers, nan for units that a pair lacks")
    found = [values[~np.isnan(values)] for values in arrays]
    varying = [i for i, values in enumerate(found) if len(values) > 1 and np.ptp(values) > 0]
    factors, method = _factors(arrays, varying, level, resampling or Resampling())
    intervals: list[Interval | None] = [None] * len(arrays)
    for i, factor in zip(varying, factors, strict=True):
        mean, half = float(found[i].mean()), factor * float(found[i].std(ddof=1)) / math.sqrt(len(found[i]))
        intervals[i] = Interval(mean - half, mean + half)
    return Simultaneous(tuple(intervals), level, method)


def _factors(
    arrays: Sequence[np.ndarray], varying: Sequence[int], level: float, resampling: Resampling
) -> tuple[list[float], str]:
    """How many standard errors wide each interval is to a side, and how that was found."""
    chosen = [arrays[i] for i in varying]
    aligned = len({len(values) for values in chosen}) == 1
    if aligned and len(chosen[0]) >= FEWEST_UNITS:
        largest = np.sort(largest_t(np.stack(chosen, axis=1), resampling))
        factor = float(largest[min(len(largest) - 1, math.ceil(level * (len(largest) + 1)) - 1)])
        return [factor] * len(chosen), f"largest |t| of all pairs, {resampling.n_resamples:,} resamples of units"
    share = 1 - (1 - level) / (2 * max(1, len(chosen)))
    sizes = [int(np.count_nonzero(~np.isnan(values))) for values in chosen]
    return [t_quantile(n - 1, share) for n in sizes], f"Student's, Bonferroni's level for {len(chosen)}"


def largest_t(values: np.ndarray, resampling: Resampling) -> np.ndarray:
    """The largest |t| of the columns of `values` `(units, pairs)` in each resample of units. A column that does not
    vary has none."""
    rng = np.random.Generator(np.random.PCG64(resampling.seed))
    units = len(values)
    there = (~np.isnan(values)).astype(np.float64)
    centred = np.where(there > 0, values - np.nanmean(values, axis=0), 0.0)
    known = there.sum(axis=0)
    own = np.sqrt((centred**2).sum(axis=0) / np.maximum(known, 1.0) / np.maximum(known - 1, 1.0))
    found = []
    block = max(1, CHUNK // max(values.size, 1))
    for start in range(0, resampling.n_resamples, block):
        many = min(block, resampling.n_resamples - start)
        weights = rng.multinomial(units, np.full(units, 1 / units), many).astype(np.float64)
        n = weights @ there
        mean = np.divide(weights @ centred, n, out=np.zeros_like(n), where=n > 0)
        spread = np.divide(weights @ centred**2, n, out=np.zeros_like(n), where=n > 0) - mean**2
        error = np.maximum(np.sqrt(np.maximum(spread, 0.0) / np.maximum(n - 1, 1.0)), LEAST_SPREAD * own)
        found.append(np.divide(np.abs(mean), error, out=np.zeros_like(mean), where=error > 0).max(axis=1))
    return np.concatenate(found)


ALPHABET = "abcdefghijklmnopqrstuvwxyz"


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusted p-values in the order given: reject those at most alpha, and the chance of any false rejection among
    all is at most alpha."""
    p = np.asarray(p_values, dtype=np.float64)
    if np.isnan(p).any() or (p < 0).any() or (p > 1).any():
        raise ValueError("p-values lie between 0 and 1; leave out comparisons that have none")
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * (len(p) - np.arange(len(p))))
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted.tolist()


def letters(names: Sequence[str], different: Iterable[tuple[str, str]]) -> dict[str, str]:
    """A compact letter display: two agents share a letter exactly where they are not in `different`. `names` are in
    rank order, and the letter a goes to the best. After z come aa, ab, ..., set apart by commas."""
    unknown = {name for pair in different for name in pair} - set(names) if (different := list(different)) else set()
    if unknown:
        raise ValueError(f"not among the names: {', '.join(sorted(unknown))}")
    place = {name: i for i, name in enumerate(names)}
    columns: list[frozenset[int]] = [frozenset(range(len(names)))] if names else []
    for one, other in different:
        columns = _split(columns, place[one], place[other])
    columns.sort(key=lambda column: sorted(column))
    separator = "" if len(columns) <= len(ALPHABET) else ","
    return {
        name: separator.join(_letter(k) for k, column in enumerate(columns) if place[name] in column) for name in names
    }


def _split(columns: list[frozenset[int]], one: int, other: int) -> list[frozenset[int]]:
    """Every column with both becomes two with either; a column inside another is dropped."""
    if one == other:
        raise ValueError("an agent is not different from itself")
    parts: list[frozenset[int]] = []
    for column in columns:
        parts += [column - {one}, column - {other}] if {one, other} <= column else [column]
    unique = list(dict.fromkeys(parts))
    return [column for column in unique if not any(column < larger for larger in unique)]


def _letter(k: int) -> str:
    high, low = divmod(k, len(ALPHABET))
    return (_letter(high - 1) if high else "") + ALPHABET[low]
