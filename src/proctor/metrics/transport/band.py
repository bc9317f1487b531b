"""A start for agents that track well: frames matched within a band around the best delay, made into a tree.

Compiled code; see `proctor.metrics.transport.solve`. Row i may go to the WIDTH columns around i + delay, counted
cyclically, so that what a delay leaves over at the ends is matched with what is missing there. The assignment problem
on these arcs is solved by reduction and shortest augmenting paths; shortest paths of reduced cost from one root then
connect its pairs. The tree is optimal unless pairs outside of the band say otherwise.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from proctor.metrics.transport.distances import LARGEST, exact, njit_fast, njit_inline, njit_lean, njit_plain
from proctor.metrics.transport.tree import new_arcs

WIDTH = 17
LONGEST_DELAY = 12
STRIDE = 8
"""Every how manyth frame is looked at to find the delay."""
CHUNK = 64
FIXED_FAR = np.int32(2**29)
GOOD = 0.35
"""The band is tried where frames are this much closer at the best delay than at half the motion's length."""


class Matching(NamedTuple):
    """`cost` (n, WIDTH) of the band, whose row i begins at column i + shift; the columns' duals; the column of every
    row and the row of every column, -1 where there is none."""

    cost: np.ndarray
    dual: np.ndarray
    column: np.ndarray
    row: np.ndarray
    shift: int


@njit_plain
def delay(a, b):
    """The delay at which the frames of `a` and `b` are closest; a large number where they are close at none, or where
    there are too few of them for a band."""
    n = a.shape[0]
    if n != b.shape[0] or n < 2 * WIDTH:
        return n
    best, at = np.inf, 0
    for shift in range(-LONGEST_DELAY, LONGEST_DELAY + 1):
        here = _apart(a, b, shift)
        if here < best:
            best, at = here, shift
    return at if best < GOOD * _apart(a, b, n // 2) else n


@njit_lean
def _apart(a, b, shift):
    """Sum of the distances of every STRIDEth frame to the one `shift` later, cyclically."""
    n = a.shape[0]
    total = 0.0
    for i in range(0, n, STRIDE):
        total += exact(a, b, i, (i + shift + n) % n)
    return total


@njit_plain
def band_arcs(costs, lag, root):
    """The arcs of a tree on all rows and columns; `root` is the row that has more mass. The table must be filled."""
    n = costs.a.shape[0]
    matching = _reduced(costs.a, costs.b, (lag - WIDTH // 2 + n) % n)
    free, waiting = np.empty(n, np.int64), np.empty(n, np.int64)
    left = _settle(matching, waiting, _settle(matching, free, _free(matching, free), waiting), free)
    distance = _filled(n, np.inf)
    for place in range(left):
        _augment(matching, free[place], distance, (np.empty(n, np.int64), waiting))
    return _connected(matching, _ways(matching, costs, root))


@njit_plain
def _filled(count, value):
    """(count,) float64 of `value`."""
    out = np.empty(count)
    for i in range(count):
        out[i] = value
    return out


@njit_plain
def _none(count):
    """(count,) int64 of -1."""
    out = np.empty(count, np.int64)
    for i in range(count):
        out[i] = -1
    return out


@njit_lean
def _free(matching, rows):
    """Write the rows without a column; returns how many."""
    count = 0
    for i in range(rows.shape[0]):
        if matching.column[i] < 0:
            rows[count] = i
            count += 1
    return count


@njit_plain
def _reduced(a, b, shift):
    """Every column's dual its least cost, and matched with that row if it is still free."""
    n = a.shape[0]
    cost = np.empty((n, WIDTH))
    dual = _filled(n, np.inf)
    nearest = np.zeros(n, np.int64)
    for i in range(n):
        for c in range(WIDTH):
            j = (i + shift + c) % n
            cost[i, c] = exact(a, b, i, j)
            if cost[i, c] < dual[j]:
                dual[j] = cost[i, c]
                nearest[j] = i
    column, row = _none(n), _none(n)
    for j in range(n):
        i = nearest[j]
        if column[i] < 0:
            column[i], row[j] = j, i
    return Matching(cost, dual, column, row, shift)


@njit_lean
def _settle(matching, free, count, waiting):
    """Give free rows their best column, lower its dual to where the second best is as good, and free the row that had
    it; rows are tried again, within reason. Writes the rows that are free in the end to `waiting`; returns how
    many."""
    left = head = 0
    tries = 4 * count
    while head < count:
        i = free[head]
        head += 1
        first, second, gap, _ = _best_two(matching, i)
        j = first if gap > 0 or matching.row[first] < 0 else second
        matching.dual[first] -= gap
        other = matching.row[j]
        matching.column[i], matching.row[j] = j, i
        if other < 0:
            continue
        matching.column[other] = -1
        tries -= 1
        if gap > 0 and tries > 0:
            head -= 1
            free[head] = other
        else:
            waiting[left] = other
            left += 1
    return left


@njit_inline
def _best_two(matching, i):
    """The columns of least and second least cost minus dual in row i, the difference, and the least."""
    n = matching.column.shape[0]
    least = second = np.inf
    at = other = 0
    start = (i + matching.shift) % n
    for c in range(WIDTH):
        j = start + c if start + c < n else start + c - n
        here = matching.cost[i, c] - matching.dual[j]
        if here < least:
            second, other = least, at
            least, at = here, j
        elif here < second:
            second, other = here, j
    return at, other, second - least, least


@njit_lean
def _augment(matching, start, distance, rooms):
    """Match the row `start` along a shortest path. `distance` (n,) is infinite before and after."""
    before, reached = rooms
    count = done = 0
    i, base = start, 0.0
    while True:
        count = _reach(matching, i, (base, distance, before), (reached, count))
        nearest = done
        for place in range(done + 1, count):
            if distance[reached[place]] < distance[reached[nearest]]:
                nearest = place
        j = reached[nearest]
        reached[done], reached[nearest] = j, reached[done]
        base = distance[j]
        if matching.row[j] < 0:
            break
        i = matching.row[j]
        done += 1
    for place in range(done):
        matching.dual[reached[place]] += distance[reached[place]] - base
    for place in range(count):
        distance[reached[place]] = np.inf
    while True:
        i = before[j]
        matching.row[j] = i
        matching.column[i], j = j, matching.column[i]
        if i == start:
            return


@njit_inline
def _reach(matching, i, search, found):
    """Shorten the distances of the columns of row i, which is `base` away. Returns how many columns are reached."""
    base, distance, before = search
    reached, count = found
    n = matching.column.shape[0]
    start = (i + matching.shift) % n
    own = matching.column[i]
    if own < 0:
        _, _, _, level = _best_two(matching, i)
    else:
        level = matching.cost[i, (own - start + n) % n] - matching.dual[own]
    for c in range(WIDTH):
        j = start + c if start + c < n else start + c - n
        here = base + max(matching.cost[i, c] - matching.dual[j] - level, 0.0)
        if here < distance[j]:
            if distance[j] == np.inf:
                reached[count] = j
                count += 1
            distance[j] = here
            before[j] = i
    return count


@njit_plain
def _connected(matching, parent):
    """The tree of all pairs: the row of every pair's parent has an arc to the pair's column. A column takes one unit of
    mass more than a row has, so what flows on that arc is the number of pairs below it."""
    n = parent.shape[0]
    weight, children = np.zeros(n, np.int64), np.zeros(n, np.int64)
    for i in range(n):
        if parent[i] != i:
            children[parent[i]] += 1
    arcs = new_arcs(2 * n - 1)
    found = 0
    for leaf in range(n):
        i = leaf
        while children[i] == 0:
            children[i] = -1
            up = parent[i]
            weight[i] += 1
            from_above = 0 if up == i else weight[i]
            arcs.row[found], arcs.column[found], arcs.flow[found] = i, matching.column[i], n + 2 - from_above
            found += 1
            if up == i:
                break
            arcs.row[found], arcs.column[found], arcs.flow[found] = up, matching.column[i], from_above
            found += 1
            weight[up] += weight[i]
            children[up] -= 1
            i = up
    return arcs


@njit_plain
def _ways(matching, costs, root):
    """For every row the one before it on a shortest way from `root`, which is its own: Dijkstra's method on the reduced
    costs of the whole table, in fixed point. A start need not be right: numbers that do not fit are cut off."""
    n = matching.column.shape[0]
    near, distance, parent = np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, np.int32)
    done = np.empty(n, np.int32)
    for j in range(n):
        done[j] = 0
        near[j] = np.int32(min(max(matching.dual[j] * costs.scale, -FIXED_FAR / 2), FIXED_FAR / 2))
        distance[j] = FIXED_FAR
        parent[j] = root
    i, base = np.int64(root), np.int32(0)
    for _ in range(n):
        own = matching.column[i]
        done[own] = FIXED_FAR
        bounds = costs.fixed[i]
        level = min(max(bounds[own] - near[own], -FIXED_FAR / 2), FIXED_FAR / 2)
        _relax(bounds, near, (np.int32(level), base, np.int32(i)), (distance, parent))
        j = _nearest(distance, done)
        i, base = matching.row[j], distance[j]
    out = np.empty(n, np.int64)
    for j in range(n):
        out[matching.row[j]] = parent[j]
    out[root] = root
    return out


@njit_fast
def _relax(bounds, near, origin, found):
    level, base, i = origin
    distance, parent = found
    zero = np.int32(0)
    for j in range(bounds.shape[0]):
        step = np.int32(bounds[j] - near[j] - level)
        way = np.int32(base + (step if step > zero else zero))
        old, old_parent = distance[j], parent[j]
        shorter = way < old
        distance[j] = way if shorter else old
        parent[j] = i if shorter else old_parent


@njit_inline
def _nearest(distance, done):
    """The column of least distance that is not done."""
    least, start = _least_open(distance, done), 0
    while start + CHUNK < distance.shape[0] and least < _least_open(
        distance[start : start + CHUNK], done[start : start + CHUNK]
    ):
        start += CHUNK
    while distance[start] + done[start] > least:
        start += 1
    return start


@njit_fast
def _least_open(distance, done):
    least = LARGEST
    for j in range(distance.shape[0]):
        least = min(least, np.int32(distance[j] + done[j]))
    return least
