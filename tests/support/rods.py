"""Rods set up by hand, for tests of the endovascular solver."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from proctor.suites.endovascular import kernel, solver
from proctor.suites.endovascular.anatomy import Branch, VesselTree
from proctor.suites.endovascular.paths import nearest, onward, remaining, way_to
from proctor.suites.endovascular.rod import (
    ASIDE,
    AXIAL,
    BEND,
    EDGE,
    LENGTH,
    MASS,
    RADIUS,
    REST,
    SETPOINT,
    SPAN,
    STATUS,
    TWIST,
    Field,
    Law,
    Rod,
    Sheath,
    State,
    Work,
    workspace,
)  # fmt: skip
from proctor.suites.endovascular.spline import sample
from proctor.suites.endovascular.wire import Wire

WALL = 30.0
"""Contact stiffness, N/mm."""
CORNERS = np.array([-200.0, 0.0, 200.0])


def field_of(values: np.ndarray, origin: float, spacing: float) -> Field:
    """A field of the type that a vessel's has, so that nothing is compiled twice."""
    values = np.ascontiguousarray(values, np.float32)
    values.flags.writeable = False
    return Field(values, np.full(3, origin), spacing)


class Route:
    """From anywhere in a tree to the end of one of its branches, for positions (3,)."""

    def __init__(self, tree: VesselTree, target: str):
        self.map = way_to(tree, target)
        self.initial_mm = float(self.map.distance[0])

    def at_end(self, position: np.ndarray) -> bool:
        """Whether the nearest centreline point is the last of a branch that has no children."""
        return bool(self.map.dead_end[nearest(self.map, *position)])

    def remaining_mm(self, position: np.ndarray) -> float:
        """The path length from a position, taken onto the centreline, to the target."""
        return float(remaining(self.map, nearest(self.map, *position), *position))

    def ahead(self, position: np.ndarray, distance_mm: float) -> np.ndarray:
        """The centreline point so far further on towards the target, at most the target itself."""
        return self.map.points[onward(self.map, nearest(self.map, *position), distance_mm)]


OPEN = field_of(np.full((3, 3, 3), -100.0), 0.0, 1.0)
"""No wall anywhere."""


def plane(x: float) -> Field:
    """A wall at this x; the lumen is below."""
    return slope(x, 0.0)


def slope(x: float, degrees: float) -> Field:
    """A wall that cuts the x axis at `x` and leans back with falling z; the lumen is below."""
    angle = np.deg2rad(degrees)
    values = np.cos(angle) * (CORNERS[:, None, None] - x) + np.sin(angle) * CORNERS[None, None, :]
    return field_of(np.broadcast_to(values, (3, 3, 3)).copy(), -200.0, 200.0)


def tube(points: np.ndarray, radius: float) -> VesselTree:
    return VesselTree((Branch("aorta", points, np.full(len(points), radius)),))


class Bench:
    """A straight rod along z, its tip up at z = 0, clamped at z = -`length`, half an edge before node `free`."""

    def __init__(self, field: Field = OPEN, free: int = 50, bend: float = 300.0, twist: float = 240.0, fine: int = 0):
        """`fine` edges at the tip are half as long as the others, which have 2 mm."""
        n = free + 3
        edges = np.where(np.arange(n) < fine, 1.0, 2.0)
        at = np.r_[0.0, np.cumsum(edges[:-1])]
        span = 0.5 * (edges + np.r_[0.0, edges[:-1]])
        node = [at, edges, span, 4e-9 * span, *(np.full(n, value) for value in (400.0, bend, twist, 0.0, 0.0, 0.4))]
        self.rod = Rod(np.stack(node, axis=1))
        self.field, self.free, self.length = field, free, float(at[free] - 0.5 * edges[free - 1])
        self.state: State
        self.work: Work
        self.state, self.work = workspace(n)
        self.state.x[:, 2] = -at
        self.state.q[:, 1] = 1.0
        self.state.contact[:, 4] = self.rod.node[:, RADIUS]
        up = np.array([0.0, 0.0, 1.0])
        self.sheath = Sheath(-self.length * up, up, np.array([0.0, 1.0, 0.0, 0.0]), 10.0, 10.0, 0.0, 1e3)
        self.status = np.zeros(len(STATUS))
        self.status[LENGTH] = self.status[SETPOINT] = self.length

    def settle(self, dt: float = 0.01, steps: int = 400, friction: float = 0.0) -> None:
        for _ in range(steps):
            self.substep(dt, friction)

    def substep(self, dt: float = 0.01, friction: float = 0.0) -> None:
        law = Law(dt, 50, WALL, friction, 2e-8, 5e-6)
        parts = (self.rod, self.state, self.field, law, self.work, self.sheath, self.status)
        solver.advance(*parts, 0.0, 0.0, 1)

    def energy(self) -> float:
        return (
            energy(self.rod, self.state, self.work, self.field, self.free)
            + 0.5 * kernel.GRIP_N_MM * float(self.status[SETPOINT] - self.status[LENGTH]) ** 2
        )


def energy(rod: Rod, state: State, work: Work, field: Field, n: int) -> float:
    """Kinetic, elastic and contact energy of `n` free nodes, N mm, computed anew."""
    x, frames = state.x[: n + 1], Rotation.from_quat(np.roll(state.q[: n + 1], -1, axis=-1))
    node, hinge, flex = rod.node[:n], rod.node[1 : n + 1], work.flex[1 : n + 1, None]
    moving = 0.5 * (node[:, [MASS]] * state.v[:n, :3] ** 2).sum()
    shear = np.diff(x, axis=0) / node[:, [EDGE]] - frames[:n].apply([0.0, 0.0, 1.0])
    stretched = 0.5 * (node[:, [AXIAL]] * node[:, [EDGE]] * shear**2).sum()
    strain = 2 * (frames[:-1].inv() * frames[1:]).as_quat(canonical=True)[:, :3]
    strain[:, :2] -= hinge[:, [REST, ASIDE]] / flex
    bent = 0.5 * (flex * hinge[:, [BEND, BEND, TWIST]] / hinge[:, [SPAN]] * strain**2).sum()
    depth = np.array([sample(field, *point)[0] for point in x[:n]]) + node[:, RADIUS]
    return float(moving + stretched + bent + pressed(depth, node[:, RADIUS]).sum())


def pressed(depth: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """The contact spring's energy at these penetrations."""
    soft = kernel.SOFT_MM
    onset = np.clip(depth + soft / 2, 0.0, soft) ** 3 * WALL / (6 * soft)
    hard = np.where(depth > soft / 2, 0.5 * WALL * (depth**2 + soft**2 / 12), onset)
    return (
        hard
        + 0.5 * WALL * kernel.DEEP_FACTOR * np.maximum(depth - np.maximum(kernel.DEEP * radius, soft / 2), 0.0) ** 2
    )


def heading(wire: Wire) -> np.ndarray:
    """Unit vector of the foremost edge, out of the tip."""
    return -np.array(kernel.director(wire.state.q, 0))
