"""How far it is along the vessels: distances on the tree of centrelines."""

from __future__ import annotations

import numpy as np

from proctor.suites.endovascular.anatomy import STEP_MM, VesselTree


class Route:
    """From anywhere in a tree to the end of one of its branches."""

    def __init__(self, tree: VesselTree, target: str):
        self._points = tree.points()
        self._radii = np.concatenate([b.radii for b in tree.branches])
        arcs = {b.name: _arc(b.points) for b in tree.branches}
        starts = dict(zip(tree.names, np.cumsum([0, *(len(b.points) for b in tree.branches)]), strict=False))
        self._distance = _distances(tree, target, arcs, starts)
        self._next = _successors(tree, starts, self._distance)
        forward = self._points[self._next] - self._points
        self._tangent = forward / np.maximum(np.linalg.norm(forward, axis=1), 1e-9)[:, None]
        parents = {b.parent for b in tree.branches[1:] if b.joins == len(tree.branch(b.parent or "").points) - 1}
        self._dead_ends = {int(starts[b.name]) + len(b.points) - 1 for b in tree.branches if b.name not in parents}
        self.initial_mm = float(self._distance[0])
        """Path length from the entry to the target."""

    def nearest(self, position: np.ndarray) -> int:
        """The number of the centreline point that a position belongs to: the one whose sphere it is deepest in, so that
        a position in a wide vessel is not taken for one in the branch that leaves there."""
        offset = self._points - position
        return int(np.argmin(np.sqrt(np.einsum("ij,ij->i", offset, offset)) - self._radii))

    def at_end(self, position: np.ndarray) -> bool:
        """Whether the nearest centreline point is the last of a branch that has no children."""
        return self.nearest(position) in self._dead_ends

    def remaining_mm(self, position: np.ndarray) -> float:
        """The path length from a position, taken onto the centreline, to the target."""
        at = self.nearest(position)
        ahead = float(np.dot(position - self._points[at], self._tangent[at]))
        return max(float(self._distance[at]) - min(max(ahead, -STEP_MM), STEP_MM), 0.0)

    def ahead(self, position: np.ndarray, distance_mm: float) -> np.ndarray:
        """The centreline point so far further on towards the target, at most the target itself."""
        at = self.nearest(position)
        for _ in range(max(round(distance_mm / STEP_MM), 1)):
            at = self._next[at]
        return self._points[at]


def _arc(points: np.ndarray) -> np.ndarray:
    return np.r_[0.0, np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))]


def _distances(tree: VesselTree, target: str, arcs: dict[str, np.ndarray], starts: dict[str, int]) -> np.ndarray:
    """For every centreline point the path length to the end of the target branch: first down to the root, then out
    into the other branches."""
    found: dict[str, np.ndarray] = {}
    branch, here, at = tree.branch(target), 0.0, len(tree.branch(target).points) - 1
    while True:
        arc = arcs[branch.name]
        found[branch.name] = here + np.abs(arc - arc[at])
        if branch.parent is None:
            break
        here, at = float(found[branch.name][0]), branch.joins
        branch = tree.branch(branch.parent)
    for branch in tree.branches:
        if branch.name not in found:
            assert branch.parent is not None
            found[branch.name] = found[branch.parent][branch.joins] + arcs[branch.name]
    return np.concatenate([found[name] for name in starts])


def _successors(tree: VesselTree, starts: dict[str, int], distance: np.ndarray) -> np.ndarray:
    """For every centreline point the neighbour that is nearest to the target; the target is its own."""
    best = np.arange(len(distance))
    for branch in tree.branches:
        first = starts[branch.name]
        pairs = [(first + i, first + i + 1) for i in range(len(branch.points) - 1)]
        if branch.parent is not None:
            pairs.append((starts[branch.parent] + branch.joins, first + 1))
            pairs.append((first, starts[branch.parent] + branch.joins))
        for a, b in pairs:
            for here, there in ((a, b), (b, a)):
                if distance[there] < distance[best[here]]:
                    best[here] = there
    return best
