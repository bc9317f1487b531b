"""Which arc enters the tree next. Compiled code; see `proctor.metrics.transport.solve`.

Rows are scanned in turn, each for the least reduced cost in the table of lower bounds; what looks negative is
looked at again with the exact distance. A few such arcs are collected, and the worst of them enters, until none of them
is negative any more.
"""

from __future__ import annotations

import numpy as np

from proctor.metrics.transport.distances import LARGEST, exact, njit_fast, njit_plain
from proctor.metrics.transport.tree import pivot

CANDIDATES = 24
"""Arcs collected before the worst of them enters."""
CHUNK = 64
ROUNDING = 2.0**-47
"""A reduced cost counts as negative beyond this share of the numbers that it is the difference of."""


@njit_fast
def _least(bounds, near):
    best = LARGEST
    for j in range(bounds.shape[0]):
        best = min(best, np.int32(bounds[j] - near[j]))
    return best


@njit_plain
def least_in_row(bounds, tree, limit):
    """The column of least bound minus dual, and that difference in units of distance; any column if the difference is
    not below `limit`."""
    if tree.wide[0]:
        return _least_wide(bounds, tree)
    near = tree.near
    best = _least(bounds, near)
    if best / tree.scale >= limit:
        return 0, best / tree.scale
    start = 0
    while start + CHUNK < bounds.shape[0] and _least(bounds[start : start + CHUNK], near[start : start + CHUNK]) > best:
        start += CHUNK
    while bounds[start] - near[start] > best:
        start += 1
    return start, best / tree.scale


@njit_plain
def _least_wide(bounds, tree):
    best, at = np.inf, 0
    for j in range(bounds.shape[0]):
        here = bounds[j] / tree.scale - tree.nodes[tree.rows + j].dual
        if here < best:
            best, at = here, j
    return at, best


@njit_plain
def descend(costs, tree, tolerance):
    """Pivot until no row shows a reduced cost below `-tolerance`. Rows whose least entry was only a weak bound are
    left to `finish`."""
    rows = tree.rows
    nodes = tree.nodes
    candidates = np.empty((CANDIDATES, 2), np.int32)
    distances = np.empty(CANDIDATES)
    count = clean = i = 0
    while True:
        while count < CANDIDATES and clean < rows:
            limit = nodes[i].dual - tolerance
            j, bound = least_in_row(costs.fixed[i], tree, limit)
            clean += 1
            if bound < limit:
                distance = exact(costs.a, costs.b, i, j)
                costs.fixed[i, j] = np.int32(distance * costs.scale)
                if distance - nodes[i].dual - nodes[rows + j].dual < -tolerance:
                    candidates[count, 0] = i
                    candidates[count, 1] = j
                    distances[count] = distance
                    count += 1
            i = i + 1 if i + 1 < rows else 0
        if count == 0:
            return
        while count > 0:
            count = _enter_worst(tree, candidates, distances, (count, tolerance))
        clean = 0


@njit_plain
def _enter_worst(tree, candidates, distances, state):
    """Pivot on the candidate of most negative reduced cost; drop it and those that are not negative. Returns how many
    are left."""
    count, tolerance = state
    nodes, rows = tree.nodes, tree.rows
    worst, at, kept = -tolerance, -1, 0
    for c in range(count):
        i, j = candidates[c, 0], candidates[c, 1]
        reduced = distances[c] - nodes[i].dual - nodes[rows + j].dual
        if reduced < -tolerance:
            candidates[kept, 0], candidates[kept, 1], distances[kept] = i, j, distances[c]
            if reduced < worst:
                worst, at = reduced, kept
            kept += 1
    if at < 0:
        return 0
    pivot(tree, candidates[at, 0], candidates[at, 1], worst)
    kept -= 1
    candidates[at, 0] = candidates[kept, 0]
    candidates[at, 1] = candidates[kept, 1]
    distances[at] = distances[kept]
    return kept


@njit_plain
def finish(costs, tree):
    """Pivot until every pair is known to have a reduced cost of zero or more, up to rounding in float64: pairs whose
    lower bound does not prove it are computed."""
    rows = tree.rows
    clean = i = 0
    while clean < rows:
        j, reduced = _violation(costs, tree, i)
        if j >= 0:
            pivot(tree, i, j, reduced)
            clean = 0
        else:
            clean += 1
            i = i + 1 if i + 1 < rows else 0


@njit_plain
def _violation(costs, tree, i):
    """The first column of row i with a negative reduced cost, and that cost; column -1 where there is none."""
    nodes, rows = tree.nodes, tree.rows
    bounds, near = costs.fixed[i], tree.near
    dual = nodes[i].dual
    limit = np.int64(min(max(dual * tree.scale, -(2.0**62)), 2.0**62)) + 4
    wide = tree.wide[0]
    for start in range(0, bounds.shape[0], CHUNK):
        stop = min(start + CHUNK, bounds.shape[0])
        if not wide and _least(bounds[start:stop], near[start:stop]) >= limit:
            continue
        for j in range(start, stop):
            if wide or bounds[j] - near[j] < limit:
                distance = exact(costs.a, costs.b, i, j)
                other = nodes[rows + j].dual
                reduced = distance - dual - other
                if reduced < -ROUNDING * (distance + abs(dual) + abs(other)):
                    return j, reduced
    return -1, 0.0
