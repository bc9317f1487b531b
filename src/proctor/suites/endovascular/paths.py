"""How far it is along the vessels: distances on the tree of centrelines."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from proctor.suites.endovascular.anatomy import STEP_MM, VesselTree, arc
from proctor.suites.endovascular.kernel import compiled


class Map(NamedTuple):
    """The centreline points of a tree, with the way to a target; what compiled functions read."""

    points: np.ndarray
    radii: np.ndarray
    distance: np.ndarray
    """Path length to the target."""
    following: np.ndarray
    """The number of the next point on the way."""
    tangent: np.ndarray
    """Unit vector to that one."""
    dead_end: np.ndarray
    """Whether it is the last point of a branch that has no children."""


@compiled()
def nearest(way, x, y, z):
    """The number of the centreline point that a position belongs to: the one whose sphere it is deepest in, so that a
    position in a wide vessel is not taken for one in the branch that leaves there."""
    found, least = 0, np.inf
    for i in range(len(way.radii)):
        dx, dy, dz = way.points[i, 0] - x, way.points[i, 1] - y, way.points[i, 2] - z
        depth = np.sqrt(dx * dx + dy * dy + dz * dz) - way.radii[i]
        if depth < least:
            found, least = i, depth
    return found


@compiled()
def remaining(way, at, x, y, z):
    """The path length to the target from a position that belongs to point `at`, taken onto the centreline."""
    tangent, point = way.tangent, way.points
    ahead = (
        (x - point[at, 0]) * tangent[at, 0] + (y - point[at, 1]) * tangent[at, 1] + (z - point[at, 2]) * tangent[at, 2]
    )
    return max(way.distance[at] - min(max(ahead, -STEP_MM), STEP_MM), 0.0)


@compiled()
def onward(way, at, distance_mm):
    """The centreline point so far on from point `at` towards the target, at most the target itself."""
    for _ in range(max(round(distance_mm / STEP_MM), 1)):
        at = way.following[at]
    return at


def way_to(tree: VesselTree, target: str, index: int = -1) -> Map:
    """From anywhere in a tree to a point of one of its branches, to its end unless said otherwise."""
    points = tree.points()
    starts = dict(zip(tree.names, np.cumsum([0, *(len(b.points) for b in tree.branches)]).tolist(), strict=False))
    distance = _distances(tree, (target, index), {b.name: arc(b.points) for b in tree.branches})
    following = _successors(tree, starts, distance)
    forward = points[following] - points
    tangent = forward / np.maximum(np.linalg.norm(forward, axis=1), 1e-9)[:, None]
    parents = {b.parent for b in tree.branches[1:] if b.joins == len(tree.branch(b.parent or "").points) - 1}
    dead_end = np.zeros(len(points), bool)
    dead_end[[starts[b.name] + len(b.points) - 1 for b in tree.branches if b.name not in parents]] = True
    return Map(points, np.concatenate([b.radii for b in tree.branches]), distance, following, tangent, dead_end)


def _distances(tree: VesselTree, target: tuple[str, int], arcs: dict[str, np.ndarray]) -> np.ndarray:
    """For every centreline point the path length to the target, a point of a branch: first down to the root, then out
    into the other branches."""
    found: dict[str, np.ndarray] = {}
    branch, here = tree.branch(target[0]), 0.0
    at = target[1] % len(branch.points)
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
    return np.concatenate([found[name] for name in tree.names])


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
