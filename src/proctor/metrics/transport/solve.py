"""Exact optimal transport between two clouds of equal weights: the compiled entry.

Imports numba; `proctor.metrics.transport` imports this when a problem is solved.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numba import njit

from proctor.metrics.transport.distances import exact, njit_plain, span
from proctor.metrics.transport.levels import divisor, optimal_tree
from proctor.metrics.transport.pricing import finish


@njit_plain
def plan_value(tree, costs):
    """Mean distance of the tree's plan, from exact distances and the flows of equal masses."""
    nodes, n = tree.nodes, tree.rows
    m = nodes.shape[0] - n
    common = divisor(n, m)
    total = 0.0
    for v in range(n + m):
        if nodes[v].depth == 0:
            continue
        parent = np.int64(nodes[v].parent)
        if v < n:
            total += exact(costs.a, costs.b, v, parent - n) * ((nodes[v].flow + m) // (m + 1))
        else:
            total += exact(costs.a, costs.b, parent, v - n) * (nodes[v].flow // (m + 1))
    return total / (np.float64(n) * (m // common))


def _compiled(sources: int) -> Callable[[np.ndarray, np.ndarray, np.ndarray, float], tuple[float, bool]]:
    """The solver, kept on disk once compiled. numba looks at the time of one file only to see whether what it kept is
    still true, but also at the values that a function captures: so it captures a checksum of all the files."""

    @njit(nogil=True, cache=True, error_model="numpy")
    def transport(a, b, table, fixed_reach):
        reach = span(a, b)
        if reach == 0.0 or sources == 0:
            return 0.0, False
        tree, costs = optimal_tree(a, b, table, fixed_reach / reach)
        finish(costs, tree)
        return plan_value(tree, costs), tree.wide[0] != 0

    return transport


def _checksum() -> int:
    files = sorted(Path(__file__).parent.glob("*.py"))
    return 1 + zlib.crc32(b"".join(file.read_bytes() for file in files))


transport = _compiled(_checksum())
"""`transport(a, b, table, fixed_reach)`: the mean distance of the optimal plan between `a` (n, d) and `b` (m, d), float64
and of magnitude about one, and whether duals grew too large for fixed point, in which `fixed_reach` is the largest possible
distance. `table` is int32 with at least n m elements."""
