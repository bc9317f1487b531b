"""From coarse to fine: the optimal tree on pooled points becomes a feasible tree on their members.

Compiled code; see `proctor.metrics.transport.solve`. Every level pools groups of FACTOR consecutive points of the
next finer one; the coarsest has one point on each side and one arc.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from proctor.metrics.transport.distances import njit_fast, njit_lean, njit_plain
from proctor.metrics.transport.tree import new_arcs

FACTOR = 2
LONGEST_SEARCH = 32


class Side(NamedTuple):
    """One side of a level: its points, the pooled points above them, and `ends` (count + 1,): the mass of the points
    before each, so that point i has mass `ends[i + 1] - ends[i]`."""

    points: np.ndarray
    above: np.ndarray
    ends: np.ndarray


@njit_plain
def divisor(n, m):
    """The greatest common divisor."""
    while m:
        n, m = m, n % m
    return n


@njit_plain
def masses(n, m, size):
    """`ends` of both sides for groups of `size` points.

    A row has mass m' (m + 1) and a column n' (m + 1) + 1, with n / m = n' / m' in lowest terms; the row in the
    middle has m more. No subset of rows and columns balances then, except none and all, so no flow is zero, and
    dividing flows by m + 1 gives those of equal masses back.
    """
    common = divisor(n, m)
    row, column = (m // common) * (m + 1), (n // common) * (m + 1) + 1
    groups_a, groups_b = (n + size - 1) // size, (m + size - 1) // size
    ends_a = np.empty(groups_a + 1, np.int64)
    ends_b = np.empty(groups_b + 1, np.int64)
    for i in range(groups_a + 1):
        ends_a[i] = min(n, i * size) * row + (m if i > (n // 2) // size else 0)
    for j in range(groups_b + 1):
        ends_b[j] = min(m, j * size) * column
    return ends_a, ends_b


@njit_lean
def coarsest(n, m):
    """The size of groups that leaves one group on each side: a power of FACTOR."""
    size = 1
    while size < max(n, m):
        size *= FACTOR
    return size


@njit_plain
def one_arc(flow):
    """The tree of the coarsest level."""
    arcs = new_arcs(1)
    arcs.row[0], arcs.column[0], arcs.flow[0] = 0, 0, flow
    return arcs


@njit_plain
def split(arcs, a, b):
    """A tree of fine arcs that carries, between the members of every coarse row and column, the flow of their arc.

    A coarse arc takes an interval of its row's members and one of its column's, which are then filled against each
    other in order. The order of a row's arcs is that in which its members move towards their columns, and the
    other way round; members that move against each other are paired in reverse.
    """
    heading = np.empty(arcs.row.shape[0])
    _headings(arcs.row, arcs.column, a, b, heading)
    starts_a = _starts(arcs.row, heading, arcs.flow, a.above.shape[0])
    _headings(arcs.column, arcs.row, b, a, heading)
    starts_b = _starts(arcs.column, heading, arcs.flow, b.above.shape[0])
    count = a.points.shape[0] + b.points.shape[0] - 1
    fine = new_arcs(count)
    found = 0
    for e in range(arcs.row.shape[0]):
        i, j = arcs.row[e], arcs.column[e]
        alike = _alignment(a.points, i, b.points, j) >= 0
        interval = (i * FACTOR, starts_a[e], j * FACTOR, starts_b[e], arcs.flow[e], alike)
        found = _fill_against(fine, found, interval, (a.ends, b.ends))
    return fine


@njit_lean
def _fill_against(fine, found, interval, ends):
    """Arcs between the members in two intervals of mass, given by the first members of their groups and by where they
    begin there, written from `found` on. Returns how many there are then."""
    i, start, j, other, flow, alike = interval
    ends_a, ends_b = ends
    start += ends_a[i]
    while ends_a[i + 1] <= start:
        i += 1
    room_a = ends_a[i + 1] - start
    other += ends_b[j]
    if alike:
        while ends_b[j + 1] <= other:
            j += 1
        room_b = ends_b[j + 1] - other
    else:
        while ends_b[j + 1] < other + flow:
            j += 1
        room_b = other + flow - ends_b[j]
    while True:
        amount = min(flow, room_a, room_b)
        fine.row[found], fine.column[found], fine.flow[found] = i, j, amount
        found += 1
        flow -= amount
        room_a -= amount
        room_b -= amount
        if flow == 0:
            return found
        if room_a == 0:
            i += 1
            room_a = ends_a[i + 1] - ends_a[i]
        if room_b == 0:
            j += 1 if alike else -1
            room_b = ends_b[j + 1] - ends_b[j]


@njit_fast
def _alignment(points, group, others, other_group):
    """Scalar product of the ways from first to last member of two groups."""
    first, other_first = group * FACTOR, other_group * FACTOR
    last = min(first + FACTOR, points.shape[0]) - 1
    other_last = min(other_first + FACTOR, others.shape[0]) - 1
    total = 0.0
    for k in range(points.shape[1]):
        total += (points[last, k] - points[first, k]) * (others[other_last, k] - others[other_first, k])
    return total


@njit_fast
def _headings(node, other, side, across, out):
    """For every arc: how far its other end lies in the direction in which the node's members move."""
    for e in range(node.shape[0]):
        first = node[e] * FACTOR
        last = min(first + FACTOR, side.points.shape[0]) - 1
        total = 0.0
        for k in range(side.points.shape[1]):
            total += (side.points[last, k] - side.points[first, k]) * across.above[other[e], k]
        out[e] = total


@njit_plain
def _starts(node, heading, flow, count):
    """For every arc: where its interval begins in its node's mass, arcs of a node in order of heading (as far as
    LONGEST_SEARCH goes: the order is a help, and any order would do)."""
    first, after = np.empty(count, np.int64), np.empty(node.shape[0], np.int64)
    for v in range(count):
        first[v] = -1
    for e in range(node.shape[0]):
        previous, following, steps = -1, first[node[e]], 0
        while following >= 0 and heading[following] < heading[e] and steps < LONGEST_SEARCH:
            previous, following, steps = following, after[following], steps + 1
        after[e] = following
        if previous < 0:
            first[node[e]] = e
        else:
            after[previous] = e
    starts = np.empty(node.shape[0], np.int64)
    for v in range(count):
        e, used = first[v], np.int64(0)
        while e >= 0:
            starts[e] = used
            used += flow[e]
            e = after[e]
    return starts
