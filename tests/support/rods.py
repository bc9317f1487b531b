"""Rods set up by hand, for tests of the endovascular solver."""

from __future__ import annotations

import numpy as np

from proctor.suites.endovascular import kernel
from proctor.suites.endovascular.anatomy import Branch, VesselTree
from proctor.suites.endovascular.rod import Field, Law, Rod, State, Work, workspace

OPEN = Field(np.full((2, 2, 2), -100.0, np.float32), np.zeros(3), 1.0)
"""No wall anywhere."""


def plane(x: float) -> Field:
    """A wall at this x; the lumen is below."""
    corners = np.array([-50.0, 50.0], np.float32) - np.float32(x)
    return Field(np.ascontiguousarray(np.broadcast_to(corners[:, None, None], (2, 2, 2))), np.full(3, -50.0), 100.0)


def slope(x: float, degrees: float) -> Field:
    """A wall that cuts the x axis at `x` and leans back with falling z; the lumen is below."""
    corners = np.array([-200.0, 200.0])
    angle = np.deg2rad(degrees)
    values = np.cos(angle) * (corners[:, None, None] - x) + np.sin(angle) * corners[None, None, :]
    return Field(np.broadcast_to(values, (2, 2, 2)).astype(np.float32), np.full(3, -200.0), 400.0)


def tube(points: np.ndarray, radius: float) -> VesselTree:
    return VesselTree((Branch("aorta", points, np.full(len(points), radius)),))


class Bench:
    """A straight rod along z, its tip up at z = 0, held from node `free` downwards."""

    def __init__(self, field: Field = OPEN, free: int = 50, bend: float = 300.0, twist: float = 240.0):
        n, spacing = free + 3, 2.0
        ones = np.ones(n)
        self.rod = Rod(spacing, 0.4, 8e-9 * ones, 400.0 * ones, bend * ones, twist * ones, 0.0 * ones)
        self.field, self.free = field, free
        self.state: State
        self.work: Work
        self.state, self.work = workspace(n)
        self.state.x[:, 2] = -spacing * np.arange(n)
        self.state.q[:, 1] = 1.0
        self.length = (free + 0.5) * spacing
        """To the clamp of the equivalent beam: half an edge behind the last free hinge."""

    def settle(self, dt: float = 0.01, steps: int = 400, friction: float = 0.0) -> None:
        for _ in range(steps):
            self.substep(dt, friction)

    def substep(self, dt: float = 0.01, friction: float = 0.0) -> None:
        law = Law(dt, 20, 30.0, friction, 4e-8, 0.01)
        kernel.substep(self.rod, self.state, self.field, law, self.work, self.free)

    def energy(self) -> float:
        """Kinetic, elastic and contact energy, N mm."""
        moving = 0.5 * (self.rod.mass[: self.free, None] * self.state.v[: self.free, :3] ** 2).sum()
        depths = [kernel.distance(self.field, *x) + self.rod.radius for x in self.state.x[: self.free]]
        pressed = sum(kernel.spring(30.0, self.rod.radius, depth)[0] for depth in depths)
        return float(moving + pressed + kernel.elastic(self.rod, self.state, self.free))
