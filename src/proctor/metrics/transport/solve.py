"""Exact optimal transport between two clouds of equal weights: the compiled entry.

Imports numba; `proctor.metrics.transport` imports this when a problem is solved.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from proctor.kernels import checksum, kept
from proctor.metrics.transport.band import band_arcs, delay
from proctor.metrics.transport.distances import Costs, exact, fill, njit_plain, pooled, span
from proctor.metrics.transport.levels import FACTOR, Side, coarsest, divisor, masses, one_arc, split
from proctor.metrics.transport.pricing import descend, finish, tighten
from proctor.metrics.transport.tree import grow, new_tree, set_duals, tree_arcs

TOLERANCE = 8.0
COARSE_TOLERANCE = 4096.0
"""Of `descend`, in fixed-point units, of which the largest possible distance has FIXED_REACH."""


def _compiled(sources: int) -> Callable[[np.ndarray, np.ndarray, np.ndarray, float], tuple[float, bool]]:
    """The solver, kept on disk once compiled. numba looks at the time of one file only to see whether what it kept is
    still true, but also at the values that a function captures: so it captures a checksum of all the files.

    Everything is called from one place, and once: what calls what is compiled again with every caller.
    """

    def transport(a, b, table, fixed_reach):
        n, m = a.shape[0], b.shape[0]
        reach = span(a, b)
        if reach == 0.0 or sources == 0:
            return 0.0, False
        lag = delay(a, b)
        size = coarsest(n, m) if lag == n else 1
        ends_a, ends_b = masses(n, m, 1)
        arcs = one_arc(ends_a[n])
        above_a, above_b = a, b
        while True:
            size = max(size // FACTOR, 1)
            fine_a, fine_b = (a, b) if size == 1 else (pooled(a, size), pooled(b, size))
            rows, columns = fine_a.shape[0], fine_b.shape[0]
            costs = Costs(fine_a, fine_b, table[: rows * columns].reshape(rows, columns), fixed_reach / reach)
            fill(costs)
            if lag == n:
                ends_a, ends_b = masses(n, m, size)
                arcs = split(arcs, Side(fine_a, above_a, ends_a), Side(fine_b, above_b, ends_b))
            else:
                arcs = band_arcs(costs, lag, n // 2)
            tree = new_tree(rows, columns, costs.scale)
            grow(tree, arcs, n // 2 // size)
            set_duals(tree, costs)
            while True:
                descend(costs, tree, TOLERANCE if size == 1 else COARSE_TOLERANCE)
                if size > 1 or not tighten(costs, tree, TOLERANCE):
                    break
            if size == 1:
                break
            arcs = tree_arcs(tree)
            above_a, above_b = fine_a, fine_b
        finish(costs, tree)
        return plan_value(tree, costs), tree.wide[0] != 0

    return kept(nogil=True, error_model="numpy")(transport)


@njit_plain
def plan_value(tree, costs):
    """Mean distance of the tree's plan, from exact distances and the flows of equal masses."""
    n, m = costs.fixed.shape
    total = 0.0
    for v in range(n + m):
        parent = np.int64(tree.walk[v].parent)
        if parent != v:
            i, j = (v, parent - n) if v < n else (parent, v - n)
            flow = tree.walk[v].flow + (m if v < n else 0)
            total += exact(costs.a, costs.b, i, j) * (flow // (m + 1))
    return total / (np.float64(n) * (m // divisor(n, m)))


transport = _compiled(checksum(Path(__file__).parent))
"""`transport(a, b, table, fixed_reach)`: the mean distance of the optimal plan between `a` (n, d) and `b` (m, d),
float64 and of magnitude about one, and whether duals grew too large for fixed point, in which `fixed_reach` is the
largest possible distance. `table` is int32 with at least n m elements."""
