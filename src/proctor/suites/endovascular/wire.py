"""A wire in a vessel: the runtime around the compiled solver."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from proctor.suites.endovascular import solver, view
from proctor.suites.endovascular.rod import (
    ANGLE,
    BEHIND,
    LENGTH,
    RADIUS,
    SETPOINT,
    STATUS,
    Field,
    Law,
    Rod,
    Sheath,
    workspace,
)
from proctor.suites.endovascular.tools import Tool, rod_of

WALL_N_MM = 30.0
"""Contact stiffness per node. Stiffer than a vessel, so that the wire stays within a fraction of its radius."""
DRAG_N_S_MM2 = 2e-8
"""Viscous drag per mm of wire: a thin cylinder in blood."""
SWAY_N_S_MM2 = 5e-6
"""Damping per mm of wire of motion across it. Numerical: a wire that snaps over takes some tenths of a second."""
MAX_TORQUE_N_MM = 6.0
MAX_DEPTH_MM = 2.0
"""A wire that is deeper in the wall has left the vessel."""


class SimulationDiverged(RuntimeError):
    """The solver left what it promises; the trial says nothing about the agent."""


@dataclass(frozen=True)
class Physics:
    """How a control step is simulated. `substeps` divide the control step; `iterations` bound those of a substep. The
    wire is not drawn back further than `least_mm`."""

    control_dt_s: float
    substeps: int = 6
    iterations: int = 50
    spacing_mm: float = 2.0
    tip_spacing_mm: float = 1.0
    friction: float = 0.001
    max_push_n: float = 1.5
    least_mm: float = 2.0


class Wire:
    """A tool in a vessel. `reset` puts it at the entry; `step` pushes and turns it for one control step. `state` and
    `status` are those of the solver (see `rod`), of which `free` nodes are in the vessel."""

    def __init__(self, tool: Tool, field: Field, entry: np.ndarray, direction: np.ndarray, physics: Physics):
        self.physics, self._field = physics, field
        dt = physics.control_dt_s / physics.substeps
        self._law = Law(dt, physics.iterations, WALL_N_MM, physics.friction, DRAG_N_S_MM2, SWAY_N_S_MM2)
        self._divide(rod_of(tool, physics.spacing_mm, physics.tip_spacing_mm).node)
        self._sheath = Sheath(
            np.ascontiguousarray(entry, np.float64),
            np.ascontiguousarray(direction, np.float64),
            facing(-np.asarray(direction, np.float64)),
            physics.max_push_n,
            MAX_TORQUE_N_MM,
            physics.least_mm,
            tool.length_mm,
        )
        self.status = np.zeros(len(STATUS))
        self.free = 0

    def _divide(self, node: np.ndarray) -> None:
        """Take these nodes (see `rod.COLUMNS`)."""
        self.rod = Rod(node)
        self.state, self._work = workspace(len(node))

    def reset(self, inserted_mm: float, angle_rad: float) -> None:
        """A straight wire with `inserted_mm` in the vessel, then let go for one control step."""
        status, state, sheath = self.status, self.state, self._sheath
        status[:] = 0.0
        status[LENGTH], status[SETPOINT], status[ANGLE] = inserted_mm, inserted_mm, angle_rad
        back = self.rod.node[:, BEHIND] - inserted_mm
        state.x[:] = sheath.entry - back[:, None] * sheath.direction
        state.v[:], state.contact[:] = 0.0, 0.0
        state.contact[:, 4] = self.rod.node[:, RADIUS]
        self._work.flex[:] = 1.0
        state.q[:] = sheath.orientation
        self._work.start[:], self._work.turned[:] = state.x, state.q
        self.step(0.0, 0.0)

    def step(self, speed_mm_s: float, spin_rad_s: float) -> None:
        """One control step. Raises SimulationDiverged where positions are not finite or the wire is out of the
        vessel."""
        self.free = int(
            solver.advance(
                self.rod,
                self.state,
                self._field,
                self._law,
                self._work,
                self._sheath,
                self.status,
                float(speed_mm_s),
                float(spin_rad_s),
                self.physics.substeps,
            )
        )
        self._check()

    def _check(self) -> None:
        depth = solver.depth(self.state, self.free)
        if np.isnan(depth):
            raise SimulationDiverged(f"wire positions are not finite after {self.inserted_mm:.1f} mm of insertion")
        if depth > MAX_DEPTH_MM:
            raise SimulationDiverged(
                f"the wire is {depth:.2f} mm in the wall after {self.inserted_mm:.1f} mm of insertion"
            )

    def look(
        self, scene: view.Scene, trip: np.ndarray, speed: float, spin: float, pushed: float, row: np.ndarray
    ) -> None:
        """Write what is seen and recorded of the last step (see `view.look`)."""
        view.look(self.rod, self.state, self.status, self.free, scene, trip, speed, spin, pushed, row)

    @property
    def points(self) -> np.ndarray:
        """(n, 3) the nodes in the vessel, tip first. A view."""
        return self.state.x[: self.free]

    @property
    def lengths(self) -> np.ndarray:
        """(devices,) how much of each device is in the vessel, mm."""
        return self.status[LENGTH : LENGTH + 1]

    @property
    def angles(self) -> np.ndarray:
        """(devices,) how far the handle of each has been turned, rad."""
        return self.status[ANGLE : ANGLE + 1]

    @property
    def bare(self) -> int:
        """How many nodes, from the tip on, have no catheter around them."""
        return self.free

    @property
    def inserted_mm(self) -> float:
        return float(self.status[LENGTH])


def facing(direction: np.ndarray) -> np.ndarray:
    """The shortest turn, as a quaternion, of the third axis into `direction`."""
    w = 1.0 + direction[2]
    if w < 1e-9:
        return np.array([0.0, 1.0, 0.0, 0.0])
    q = np.array([w, -direction[1], direction[0], 0.0])
    return q / np.linalg.norm(q)
