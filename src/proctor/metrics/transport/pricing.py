"""Which arc enters the tree next. Compiled code; see `proctor.metrics.transport.solve`.

Rows are scanned in turn, each for the least reduced cost in the table of lower bounds; what looks negative is
looked at again with the exact distance. A few such arcs are collected, and the worst of them enters, until none of them
is negative any more.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from proctor.metrics.transport.distances import LARGEST, exact, njit_fast, njit_inline, njit_lean, njit_plain
from proctor.metrics.transport.tree import pivot

CANDIDATES = 24
"""Arcs collected before the worst of them enters."""
FEW = 32
"""Rows with something to offer below which others are asked."""
AROUND = 2
"""How far from a pivot rows are asked, in frames."""
CHUNK = 64
ROUNDED = 4
"""Units of fixed point that rounding to them may cost a difference."""
ROUNDING = 2.0**-47
"""A reduced cost counts as negative beyond this share of the numbers that it is the difference of."""


class Candidates(NamedTuple):
    """Arcs that may enter: row, column, and distance."""

    row: np.ndarray
    column: np.ndarray
    distance: np.ndarray


@njit_fast
def _least(bounds, near):
    best = LARGEST
    for j in range(bounds.shape[0]):
        best = min(best, np.int32(bounds[j] - near[j]))
    return best


@njit_inline
def least_in_row(bounds, tree, limit):
    """The column of least bound minus dual, and that difference in units of distance; any column if the difference is
    not below `limit`."""
    if tree.wide[0]:
        return _least_wide(bounds, tree)
    near = tree.near[tree.rows :]
    best = _least(bounds, near)
    if best / tree.scale >= limit:
        return 0, best / tree.scale
    start = 0
    while start + CHUNK < bounds.shape[0] and _least(bounds[start : start + CHUNK], near[start : start + CHUNK]) > best:
        start += CHUNK
    while bounds[start] - near[start] > best:
        start += 1
    return start, best / tree.scale


@njit_inline
def _least_wide(bounds, tree):
    best, at = np.inf, 0
    for j in range(bounds.shape[0]):
        here = bounds[j] / tree.scale - tree.line[tree.rows + j].dual
        if here < best:
            best, at = here, j
    return at, best


@njit_plain
def descend(costs, tree, units):
    """Pivot until no row shows a reduced cost below `-units` of fixed point. Rows whose least entry was only a weak
    bound are left to `finish`.

    Rows that had something to offer are asked again, until few of them have; then the rows around the last pivots, as
    long as there are any; then all rows.
    """
    candidates = Candidates(np.empty(CANDIDATES, np.int64), np.empty(CANDIDATES, np.int64), np.empty(CANDIDATES))
    _rounds(
        costs, tree, candidates, (np.empty(tree.rows, np.int64), np.zeros(tree.rows, np.int64)), units / costs.scale
    )


@njit_lean
def _rounds(costs, tree, candidates, rooms, tolerance):
    active, hot = rooms
    asked = _all_rows(active)
    while True:
        offers = count = 0
        for place in range(asked):
            i = active[place]
            if _offers(costs, tree, (i, tolerance), (candidates, count)):
                active[offers] = i
                offers += 1
                count += 1
            if count == CANDIDATES or place == asked - 1:
                while count > 0:
                    count = _enter_worst(tree, candidates, (count, tolerance), hot)
        if offers == 0 and asked == tree.rows:
            return
        asked = _take(hot, active, offers)
        if asked == 0:
            asked = _all_rows(active)


@njit_inline
def _all_rows(active):
    """Make all rows active; returns how many."""
    for i in range(active.shape[0]):
        active[i] = i
    return active.shape[0]


@njit_inline
def _take(hot, active, offers):
    """Make the hot rows active unless many of the active ones had offers; cool all. Returns how many are active."""
    count = offers if offers >= FEW else 0
    for i in range(hot.shape[0]):
        if hot[i] and offers < FEW:
            active[count] = i
            count += 1
        hot[i] = 0
    return count


@njit_inline
def _heat(hot, at, length):
    """Mark the rows around the place `at` of `length`, as far from the start as that is."""
    middle = at * hot.shape[0] // length
    for i in range(max(middle - AROUND, 0), min(middle + AROUND + 1, hot.shape[0])):
        hot[i] = 1


@njit_inline
def _offers(costs, tree, ask, offer):
    """Whether row i has a reduced cost below `-tolerance`; it is then written to the candidates, at `count`."""
    i, tolerance = ask
    candidates, count = offer
    line = tree.line
    limit = line[i].dual - tolerance
    j, bound = least_in_row(costs.fixed[i], tree, limit)
    if bound >= limit:
        return False
    distance = exact(costs.a, costs.b, i, j)
    costs.fixed[i, j] = np.int32(distance * costs.scale)
    candidates.row[count], candidates.column[count], candidates.distance[count] = i, j, distance
    return distance - line[i].dual - line[tree.rows + j].dual < -tolerance


@njit_inline
def _enter_worst(tree, candidates, state, hot):
    """Pivot on the candidate of most negative reduced cost, and mark the rows around it and around the arc that leaves;
    drop it and those that are not negative. Returns how many are left."""
    count, tolerance = state
    line, rows = tree.line, tree.rows
    row, column, distance = candidates
    worst, at, kept = -tolerance, -1, 0
    for c in range(count):
        reduced = distance[c] - line[row[c]].dual - line[rows + column[c]].dual
        if reduced < -tolerance:
            row[kept], column[kept], distance[kept] = row[c], column[c], distance[c]
            if reduced < worst:
                worst, at = reduced, kept
            kept += 1
    if at < 0:
        return 0
    left_row, left_column = pivot(tree, row[at], column[at], worst)
    for i in (row[at], left_row):
        _heat(hot, i, rows)
    for j in (column[at], left_column):
        _heat(hot, j, line.shape[0] - rows)
    kept -= 1
    row[at], column[at], distance[at] = row[kept], column[kept], distance[kept]
    return kept


@njit_lean
def tighten(costs, tree, units):
    """Put the exact distance in the place of every bound that leaves room for a reduced cost below `-units` of fixed
    point. Whether there is one that `descend` will see, which looks at numbers rounded to units."""
    found = False
    for i in range(tree.rows):
        j, _ = _violation(costs, tree, i, (units + ROUNDED, True))
        found = found or j >= 0
    return found


@njit_lean
def finish(costs, tree):
    """Pivot until every pair is known to have a reduced cost of zero or more, up to rounding in float64: pairs whose
    lower bound does not prove it are computed."""
    rows = tree.rows
    clean = i = 0
    while clean < rows:
        j, reduced = _violation(costs, tree, i, (0.0, False))
        if j >= 0:
            pivot(tree, i, j, reduced)
            clean = 0
        else:
            clean += 1
            i = i + 1 if i + 1 < rows else 0


@njit_inline
def _violation(costs, tree, i, ask):
    """A column of row i with a reduced cost below minus so many units of fixed point, and that cost; column -1 where
    there is none. Bounds that leave room for one learn their distances: up to the first, or in the whole row."""
    units, whole = ask
    at, found = -1, 0.0
    line, rows = tree.line, tree.rows
    bounds, near = costs.fixed[i], tree.near[rows:]
    dual = line[i].dual
    limit = np.int64(min(max(dual * tree.scale - units, -(2.0**62)), 2.0**62)) + ROUNDED
    wide = tree.wide[0]
    for start in range(0, bounds.shape[0], CHUNK):
        stop = min(start + CHUNK, bounds.shape[0])
        if not wide and _least(bounds[start:stop], near[start:stop]) >= limit:
            continue
        for j in range(start, stop):
            if wide or bounds[j] - near[j] < limit:
                distance = exact(costs.a, costs.b, i, j)
                bounds[j] = np.int32(distance * costs.scale)
                other = line[rows + j].dual
                reduced = distance - dual - other
                if reduced < -units / costs.scale - ROUNDING * (distance + abs(dual) + abs(other)):
                    at, found = j, reduced
                    if not whole:
                        return at, found
    return at, found
