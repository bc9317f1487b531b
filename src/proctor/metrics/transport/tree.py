"""The spanning tree of the network simplex method. Compiled code; see `proctor.metrics.transport.solve`.

Nodes 0 .. n-1 are the rows (points of a), n .. n+m-1 the columns (points of b). Every node but the root has an
arc to its parent with a positive flow; a row's dual plus its column's dual is the distance on every arc of the tree.
Masses are perturbed (see `masses` in levels.py), so that no flow is ever zero and every pivot gains.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from proctor.metrics.transport.distances import exact, njit_inline, njit_lean, njit_plain

FIXED_LIMIT = 2.0**30
"""Largest dual in fixed point; beyond it the tree is marked `wide` and priced in float64."""

NOWHERE = np.uint32(0xFFFFFFFF)

WALK = np.dtype([("parent", np.uint32), ("depth", np.uint32), ("flow", np.int64)])
"""What a walk to the root reads: parent (the root's is the root), depth, flow on the arc to the parent."""
LINE = np.dtype([("after", np.uint32), ("before", np.uint32), ("dual", np.float64)])
"""All nodes in one circle, every node right before its descendants; and the duals."""


class Tree(NamedTuple):
    """`walk` and `line` (n + m,); `near` (n + m,) int32, the duals in fixed point; `wide` (1,), 1 where one of them
    did not fit; two rooms for nodes; the number of rows; fixed-point units per unit of distance."""

    walk: np.ndarray
    line: np.ndarray
    near: np.ndarray
    wide: np.ndarray
    order: np.ndarray
    place: np.ndarray
    rows: int
    scale: float


class Arcs(NamedTuple):
    """Arcs of a tree: row, column and flow of each, int64."""

    row: np.ndarray
    column: np.ndarray
    flow: np.ndarray


@njit_plain
def new_tree(rows, columns, scale):
    """A tree whose nodes are not linked yet."""
    count = rows + columns
    near, wide = np.empty(count, np.int32), np.zeros(1, np.int64)
    order, place = np.empty(count, np.uint32), np.empty(count, np.uint32)
    return Tree(np.empty(count, WALK), np.empty(count, LINE), near, wide, order, place, rows, scale)


@njit_plain
def new_arcs(count):
    return Arcs(np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count, np.int64))


@njit_plain
def grow(tree, arcs, root):
    """Link the arcs into the tree from `root`, a row. `tree.order` has all nodes then, in the order of the line."""
    walk, rows = tree.walk, tree.rows
    count = walk.shape[0]
    heads, incident = _incidence(arcs, rows, count)
    waiting = np.empty(count, np.int64)
    waiting[0], left = root, 1
    walk[root].parent, walk[root].depth, walk[root].flow = root, 0, 0
    for place in range(count):
        left -= 1
        v = waiting[left]
        tree.order[place] = v
        for at in range(heads[v], heads[v + 1]):
            e = incident[at]
            w = rows + arcs.column[e] if v < rows else arcs.row[e]
            if w != walk[v].parent:
                walk[w].parent, walk[w].depth, walk[w].flow = v, walk[v].depth + 1, arcs.flow[e]
                waiting[left] = w
                left += 1
    tail = np.int64(tree.order[count - 1])
    for place in range(count):
        v = np.int64(tree.order[place])
        tree.line[tail].after, tree.line[v].before = v, tail
        tail = v


@njit_plain
def _incidence(arcs, rows, count):
    """The arcs at every node: those of node v are `incident[heads[v] : heads[v + 1]]`."""
    heads, incident = np.zeros(count + 1, np.int64), np.empty(2 * count, np.int64)
    for e in range(count - 1):
        heads[arcs.row[e]] += 1
        heads[rows + arcs.column[e]] += 1
    for v in range(count):
        heads[v + 1] += heads[v]
    for e in range(count - 1):
        for v in (arcs.row[e], rows + arcs.column[e]):
            heads[v] -= 1
            incident[heads[v]] = e
    return heads, incident


@njit_inline
def set_dual(tree, v, dual):
    tree.line[v].dual = dual
    fixed = dual * tree.scale
    if abs(fixed) >= FIXED_LIMIT:
        tree.wide[0], fixed = 1, 0.0
    tree.near[v] = np.int32(fixed)


@njit_lean
def set_duals(tree, costs):
    """Duals from the exact distances along the tree, in `tree.order`; the table learns these distances."""
    rows = tree.rows
    set_dual(tree, tree.order[0], 0.0)
    for place in range(1, tree.order.shape[0]):
        v = np.int64(tree.order[place])
        parent = np.int64(tree.walk[v].parent)
        i, j = (v, parent - rows) if v < rows else (parent, v - rows)
        distance = exact(costs.a, costs.b, i, j)
        costs.fixed[i, j] = np.int32(distance * costs.scale)
        set_dual(tree, v, distance - tree.line[parent].dual)


@njit_plain
def tree_arcs(tree):
    """The arcs of the tree: one for every node but the root."""
    walk, rows = tree.walk, tree.rows
    count = walk.shape[0] - 1
    arcs = new_arcs(count)
    e = 0
    for v in range(count + 1):
        parent = np.int64(walk[v].parent)
        if parent != v:
            arcs.row[e], arcs.column[e] = (v, parent - rows) if v < rows else (parent, v - rows)
            arcs.flow[e] = walk[v].flow
            e += 1
    return arcs


@njit_lean
def pivot(tree, i, j, reduced):
    """Let the arc from row i to column j, of negative reduced cost, into the tree, and another out. Returns the row and
    the column of that."""
    walk, rows = tree.walk, tree.rows
    row, column = np.uint32(i), np.uint32(rows + j)
    join, leaving, from_row = _leaving(walk, rows, row, column)
    amount = walk[leaving].flow
    child, parent = np.int64(leaving), np.int64(walk[leaving].parent)
    _push(walk, rows, row, (join, amount))
    _push(walk, rows, column, (join, -amount))
    if from_row:
        _hang(tree, row, column, (leaving, amount), reduced)
    else:
        _hang(tree, column, row, (leaving, amount), -reduced)
    return (child, parent - rows) if child < rows else (parent, child - rows)


@njit_inline
def _leaving(walk, rows, row, column):
    """Where the paths from both ends of the entering arc meet, the node below the arc that empties first, and
    whether that is on the row's side."""
    x, y = row, column
    least = np.int64(2**62)
    leaving, from_row = row, True
    while x != y:
        if walk[x].depth >= walk[y].depth:
            if x < rows and walk[x].flow < least:
                least, leaving, from_row = walk[x].flow, x, True
            x = walk[x].parent
        else:
            if y >= rows and walk[y].flow < least:
                least, leaving, from_row = walk[y].flow, y, False
            y = walk[y].parent
    return x, leaving, from_row


@njit_inline
def _push(walk, rows, start, push):
    """Change the flows from `start` up to the join: rows' arcs lose the amount, columns' arcs gain it."""
    join, amount = push
    x = start
    while x != join:
        walk[x].flow += -amount if x < rows else amount
        x = walk[x].parent


@njit_inline
def _hang(tree, top, above, cut, change):
    """Cut off the branch at the leaving node, turn it around so that `top` is its root, and hang it under `above`: the
    entering arc has the flow of the leaving one. Rows' duals gain `change` there, columns' duals lose it.

    The way from `top` to the leaving node cuts the branch's line into pieces: what every node on it has before the
    next one, the part of `top`, and what they have after it. They are moved in this order, and joined so that the
    part of `top` comes first, then both pieces of the next node, and so on.
    """
    walk, line, way, ends = tree.walk, tree.line, tree.order, tree.place
    steps = _turn(walk, way, (top, above), cut)
    leaving = way[steps]
    depth, level = np.int64(walk[leaving].depth), np.int64(walk[above].depth) + 1
    before, following, v = line[leaving].before, line[above].after, leaving
    for k in range(steps, 0, -1):
        ends[k], v = _move(tree, v, (way[k - 1], 0), (level + 2 * k - depth - steps, change))
    tail, v = _move(tree, v, (NOWHERE, depth + steps), (level - depth - steps, change))
    _join(line, above, top)
    for k in range(1, steps + 1):
        _join(line, tail, way[k])
        tail = ends[k]
        if walk[v].depth > depth + steps - k:
            _join(line, tail, v)
            tail, v = _move(tree, v, (NOWHERE, depth + steps - k), (level + 2 * k - depth - steps, change))
    if following == leaving:
        following = v
    else:
        _join(line, before, v)
    _join(line, tail, following)


@njit_inline
def _join(line, v, w):
    line[v].after = w
    line[w].before = v


@njit_inline
def _turn(walk, way, ends, cut):
    """Turn the arcs from `top` to the leaving node around and write the nodes between to `way`. Returns how many arcs
    there are."""
    top, above = ends
    leaving, flow = cut
    v, parent, steps = top, above, 0
    while True:
        way[steps] = v
        old_parent, old_flow = walk[v].parent, walk[v].flow
        walk[v].parent, walk[v].flow = parent, flow
        if v == leaving:
            return steps
        v, parent, flow, steps = old_parent, v, old_flow, steps + 1


@njit_inline
def _move(tree, v, until, moved):
    """Change depths and duals along the line, from v up to a node or to one that is no deeper than a depth. Returns the
    last that was changed, and the one after it."""
    stop, floor = until
    rise, change = moved
    walk, line, near, rows, scale = tree.walk, tree.line, tree.near, tree.rows, tree.scale
    while True:
        walk[v].depth = np.uint32(walk[v].depth + rise)
        dual = line[v].dual + (change if v < rows else -change)
        line[v].dual = dual
        fixed = dual * scale
        if abs(fixed) >= FIXED_LIMIT:
            tree.wide[0], fixed = 1, 0.0
        near[v] = np.int32(fixed)
        last, v = v, line[v].after
        if v == stop or walk[v].depth <= floor:
            return last, v
