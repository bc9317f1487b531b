"""The spanning tree of the network simplex method. Compiled code; see `proctor.metrics.transport.solve`.

Nodes 0 .. n-1 are the rows (points of a), n .. n+m-1 the columns (points of b). Every node but the root has an
arc to its parent with a positive flow; a row's dual plus its column's dual is the distance on every arc of the tree.
Masses are perturbed (see `masses` in levels.py), so that no flow is ever zero and every pivot gains.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from proctor.metrics.transport.distances import exact, njit_plain

NONE = 0xFFFFFFFF
FIXED_LIMIT = 2.0**30
"""Largest dual in fixed point; beyond it the tree is marked `wide` and priced in float64."""

NODE = np.dtype(
    [
        ("parent", np.uint32),
        ("first", np.uint32),
        ("after", np.uint32),
        ("before", np.uint32),
        ("depth", np.uint32),
        ("pad", np.uint32),
        ("flow", np.int64),
        ("dual", np.float64),
    ]
)
"""Parent, first child, next and previous sibling (or NONE), depth, flow on the arc to the parent, dual."""


class Tree(NamedTuple):
    """`nodes` (n + m,) of NODE; `near` (m,) int32, the columns' duals in fixed point; `wide` (1,), 1 where one of
    them did not fit; the number of rows; fixed-point units per unit of distance."""

    nodes: np.ndarray
    near: np.ndarray
    wide: np.ndarray
    rows: int
    scale: float


class Arcs(NamedTuple):
    """Arcs of a tree: row, column (int32) and flow (int64) of each."""

    row: np.ndarray
    column: np.ndarray
    flow: np.ndarray


@njit_plain
def new_tree(rows, columns, scale):
    """A tree whose nodes are not linked yet."""
    return Tree(np.empty(rows + columns, NODE), np.empty(columns, np.int32), np.zeros(1, np.int8), rows, scale)


@njit_plain
def new_arcs(count):
    return Arcs(np.empty(count, np.int32), np.empty(count, np.int32), np.empty(count, np.int64))


@njit_plain
def link(nodes, child, parent):
    """Hang `child` under `parent`."""
    sibling = nodes[parent].first
    nodes[child].parent = parent
    nodes[child].after = sibling
    nodes[child].before = NONE
    if sibling != NONE:
        nodes[sibling].before = child
    nodes[parent].first = child


@njit_plain
def unlink(nodes, child):
    """Take `child` from its parent's children."""
    after, before = nodes[child].after, nodes[child].before
    if before != NONE:
        nodes[before].after = after
    else:
        nodes[nodes[child].parent].first = after
    if after != NONE:
        nodes[after].before = before


@njit_plain
def set_near(tree, column, dual):
    value = dual * tree.scale
    if abs(value) < FIXED_LIMIT:
        tree.near[column] = np.int32(value)
    else:
        tree.near[column] = 0
        tree.wide[0] = 1


@njit_plain
def grow(tree, arcs, root):
    """Link the arcs into the tree from `root`, a row. Returns all nodes, parents before children."""
    nodes, rows = tree.nodes, tree.rows
    count = nodes.shape[0]
    heads = np.zeros(count + 1, np.int64)
    for e in range(count - 1):
        heads[arcs.row[e]] += 1
        heads[rows + arcs.column[e]] += 1
    for v in range(count):
        heads[v + 1] += heads[v]
        nodes[v].first = NONE
    incident = np.empty(2 * count, np.int32)
    for e in range(count - 1):
        i, j = arcs.row[e], rows + arcs.column[e]
        heads[i] -= 1
        incident[heads[i]] = e
        heads[j] -= 1
        incident[heads[j]] = e
    nodes[root].parent = nodes[root].after = nodes[root].before = NONE
    nodes[root].depth = 0
    order = np.empty(count, np.int64)
    order[0] = root
    found = 1
    for head in range(count):
        v = order[head]
        for place in range(heads[v], heads[v + 1]):
            e = incident[place]
            w = rows + arcs.column[e] if v < rows else np.int64(arcs.row[e])
            if w != nodes[v].parent:
                link(nodes, w, v)
                nodes[w].depth = nodes[v].depth + 1
                nodes[w].flow = arcs.flow[e]
                order[found] = w
                found += 1
    return order


@njit_plain
def set_duals(tree, costs, order):
    """Duals from the exact distances along the tree; the table learns these distances."""
    nodes, rows = tree.nodes, tree.rows
    nodes[order[0]].dual = 0.0
    for place in range(1, order.shape[0]):
        v = order[place]
        parent = np.int64(nodes[v].parent)
        i, j = (v, parent - rows) if v < rows else (parent, v - rows)
        distance = exact(costs.a, costs.b, i, j)
        costs.fixed[i, j] = np.int32(distance * costs.scale)
        nodes[v].dual = distance - nodes[parent].dual
        if v >= rows:
            set_near(tree, j, nodes[v].dual)


@njit_plain
def tree_arcs(tree):
    """The arcs of the tree, one per node but the root, and none else."""
    nodes, rows = tree.nodes, tree.rows
    count = nodes.shape[0] - 1
    arcs = new_arcs(count)
    e = 0
    for v in range(count + 1):
        parent = np.int64(nodes[v].parent)
        if parent == NONE:
            continue
        arcs.row[e] = v if v < rows else parent
        arcs.column[e] = parent - rows if v < rows else v - rows
        arcs.flow[e] = nodes[v].flow
        e += 1
    return arcs


@njit_plain
def pivot(tree, i, j, reduced):
    """Let the arc from row i to column j, of negative reduced cost, into the tree, and another out. Returns the row and
    the column of that."""
    rows = tree.rows
    row, column = np.uint32(i), np.uint32(rows + j)
    join, leaving, from_row = _leaving(tree.nodes, rows, row, column)
    amount = tree.nodes[leaving].flow
    child, parent = np.int64(leaving), np.int64(tree.nodes[leaving].parent)
    _push(tree.nodes, rows, row, (join, amount))
    _push(tree.nodes, rows, column, (join, -amount))
    top, above = (row, column) if from_row else (column, row)
    _hang(tree.nodes, top, above, (leaving, amount))
    _shift(tree, top, reduced if from_row else -reduced)
    return (child, parent - rows) if child < rows else (parent, child - rows)


@njit_plain
def _leaving(nodes, rows, row, column):
    """Where the paths from both ends of the entering arc meet, the node below the arc that empties first, and
    whether that is on the row's side."""
    x, y = row, column
    least = np.int64(2**62)
    leaving, from_row = row, True
    while x != y:
        if nodes[x].depth >= nodes[y].depth:
            if x < rows and nodes[x].flow < least:
                least, leaving, from_row = nodes[x].flow, x, True
            x = nodes[x].parent
        else:
            if y >= rows and nodes[y].flow < least:
                least, leaving, from_row = nodes[y].flow, y, False
            y = nodes[y].parent
    return x, leaving, from_row


@njit_plain
def _push(nodes, rows, start, push):
    """Change the flows from `start` up to the join: rows' arcs lose the amount, columns' arcs gain it."""
    join, amount = push
    x = start
    while x != join:
        nodes[x].flow += -amount if x < rows else amount
        x = nodes[x].parent


@njit_plain
def _hang(nodes, top, above, cut):
    """Turn the path from `top` to the leaving node around, and hang it under `above`."""
    leaving, flow = cut
    x, parent = top, above
    while True:
        old_parent, old_flow = nodes[x].parent, nodes[x].flow
        unlink(nodes, x)
        link(nodes, x, parent)
        nodes[x].flow = flow
        if x == leaving:
            return
        parent, flow, x = x, old_flow, old_parent


@njit_plain
def _shift(tree, top, change):
    """Add `change` to the duals of the rows below `top`, take it from those of the columns; set depths."""
    nodes, rows = tree.nodes, tree.rows
    nodes[top].depth = nodes[nodes[top].parent].depth + 1
    v = top
    while True:
        if v < rows:
            nodes[v].dual += change
        else:
            dual = nodes[v].dual - change
            nodes[v].dual = dual
            set_near(tree, v - rows, dual)
        depth = nodes[v].depth
        child = nodes[v].first
        if child != NONE:
            v = child
            nodes[v].depth = depth + 1
            continue
        while v != top and nodes[v].after == NONE:
            v = nodes[v].parent
        if v == top:
            return
        depth = nodes[v].depth
        v = nodes[v].after
        nodes[v].depth = depth
