"""Two devices, a catheter over a wire, as one rod.

Where both are, the rod has the sum of their stiffnesses and, at rest, the mean of their curvatures weighted by these:
what two rods in one another are without friction between them. Beyond the end of the one that is behind, the rod is the
other one alone. Nodes belong to the device that is ahead, and what they are made of is set anew in every substep; when
the other one overtakes, both ends are at the same place, and the nodes are its own from then on.

Every device has its insertion and its angle. The frames of the rod turn with the wire's handle; the catheter's
curvature is turned against them by the difference of the two angles. So twist is shared where both are.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from proctor.kernels import checksum
from proctor.suites.endovascular import solver, tools
from proctor.suites.endovascular.kernel import CLAMPED, compiled, free_nodes, inner, substep
from proctor.suites.endovascular.rod import (
    ANGLE,
    ASIDE,
    AXIAL,
    BEHIND,
    BEND,
    DRAWN,
    EDGE,
    FORCE,
    LENGTH,
    MASS,
    RADIUS,
    REST,
    SETPOINT,
    SPAN,
    TWIST,
    Field,
)
from proctor.suites.endovascular.tools import Tool, profile, rod_of
from proctor.suites.endovascular.wire import Physics, Wire

WIRE, CATHETER = range(2)
GRAIN_MM = 0.25
"""How finely a device's description is kept for where it is inside or around the other one."""
LOOK_AHEAD_S = 0.006
"""stEVE's step of SOFA."""
AXIAL_PER_BEND, AXIAL_LEAST, AXIAL_MOST = tools.AXIAL, *tools.AXIAL_N

DUO = range(3)
AHEAD, BEHIND_MM, TURNED = DUO
"""Entries of what is known of two devices beside the handle's status, which is that of the device ahead: which one that
is, the insertion of the other one (mm), the angle of the catheter (rad); the status has the wire's."""


class Devices(NamedTuple):
    """Wire and catheter, each as it is alone."""

    alone: np.ndarray
    """(2, n, 10) their nodes, divided alike; see `rod.COLUMNS`."""
    profile: np.ndarray
    """(2, m, 3) every `GRAIN_MM`; see `tools.profile`."""
    bounds: np.ndarray
    """(2, 2) least and largest insertion, mm."""


@inner()
def looked_up(table, device, behind, column):
    """A column of a device's profile so far behind its tip; before the tip and behind the end as there."""
    place = min(max(behind / GRAIN_MM, 0.0), table.shape[1] - 1.001)
    at = int(place)
    share = place - at
    return (1.0 - share) * table[device, at, column] + share * table[device, at + 1, column]


@inner()
def merge(devices, rod, state, duo, length, angle):
    """Set what the rod is made of when the device ahead is inserted by `length` and the wire's angle is `angle`. A
    hinge stands for half an edge to either side and is as pliant as its two parts in a row; of hinges in the mouth of
    the sheath only what is inside the body counts."""
    node, lead = rod.node, int(duo[AHEAD])
    other, gap, phi = 1 - lead, max(length - duo[BEHIND_MM], 0.0), duo[TURNED] - angle
    own_x, own_y = (1.0, 0.0) if lead == WIRE else (np.cos(phi), -np.sin(phi))
    its_x, its_y = (np.cos(phi), -np.sin(phi)) if lead == WIRE else (1.0, 0.0)
    for j in range(min(free_nodes(rod, length) + 4, len(node))):
        before, span = node[j, RADIUS], node[j, SPAN]
        for c in range(node.shape[1]):
            node[j, c] = devices.alone[lead, j, c]
        rest, first = node[j, REST], node[j, BEHIND] - (0.5 * node[j - 1, EDGE] if j > 0 else 0.0)
        node[j, REST], node[j, ASIDE] = rest * own_x, rest * own_y
        top = min(first + span, length)
        bottom = min(first, top - CLAMPED * span)
        share, inside = (top - max(bottom, gap)) / (top - bottom), top - bottom
        if share > 0.0:
            at = max(node[j, BEHIND] - gap, 0.0)
            bend, radius = looked_up(devices.profile, other, at, 0), node[j, RADIUS]
            weight = bend / (node[j, BEND] + bend)
            turned = looked_up(devices.profile, other, top - gap, 2)
            turned -= looked_up(devices.profile, other, bottom - gap, 2)
            own = 2 * np.arcsin(0.5 * rest) * (1.0 - share * weight)
            its = turned * span / inside * weight
            x, y = own * own_x + its * its_x, own * own_y + its * its_y
            size = np.sqrt(x * x + y * y)
            scale = 2 * np.sin(0.5 * size) / size if size > 1e-9 else 1.0
            node[j, REST], node[j, ASIDE] = scale * x, scale * y
            node[j, BEND] /= 1.0 - share * weight
            twist = looked_up(devices.profile, other, at, 1)
            node[j, TWIST] /= 1.0 - share * twist / (node[j, TWIST] + twist)
            node[j, AXIAL] = min(max(AXIAL_PER_BEND * node[j, BEND], AXIAL_LEAST), AXIAL_MOST)
            wide = radius + share * max(devices.alone[other, 0, RADIUS] - radius, 0.0)
            node[j, RADIUS], node[j, MASS] = wide, node[j, MASS] * (wide / radius) ** 2
        state.contact[j, 4] += node[j, RADIUS] - before


@inner()
def ordered(devices, duo, at, by, its):
    """Move the insertion of the device behind by `its`, and that of the one ahead from `at` by `by`, both within their
    bounds; decide who is ahead then. By how much the handle of the rod is pushed."""
    lead = int(duo[AHEAD])
    other, low, high = 1 - lead, devices.bounds[lead, 0], devices.bounds[lead, 1]
    pushed = by if low <= at + by <= high else min(max(at + by, low), high) - at
    behind = min(max(duo[BEHIND_MM] + its, devices.bounds[other, 0]), devices.bounds[other, 1])
    if behind > at + pushed:
        duo[AHEAD], duo[BEHIND_MM] = other, at + pushed
        return behind - at
    duo[BEHIND_MM] = behind
    return pushed


def _entry(sources: int) -> Any:
    """`advance`, with the checksum of all files that are compiled into it: numba's cache knows it by that."""

    @compiled()
    def advance(devices, rod, state, field, law, work, sheath, status, duo, speeds, spins, substeps):
        """Push and turn both devices for so many substeps with these speeds (2,) (mm/s) and spins (2,) (rad/s), the
        wire's first; how many nodes are free then. Stops when something is not finite."""
        solver.forget(state, status)
        free = free_nodes(rod, status[LENGTH]) if sources else 0
        for _ in range(substeps):
            status[ANGLE] += solver.turned(law, sheath, status, spins[WIRE])
            duo[TURNED] += solver.turned(law, sheath, status, spins[CATHETER])
            own, its = law.dt * speeds[int(duo[AHEAD])], law.dt * speeds[1 - int(duo[AHEAD])]
            pushed = ordered(devices, duo, status[SETPOINT], own, its)
            if not np.isfinite(status[SETPOINT] + pushed + duo[BEHIND_MM] + status[ANGLE] + duo[TURNED]):
                break
            slipping = abs(status[FORCE]) > 0.99 * sheath.max_force and status[FORCE] * pushed > 0.0
            length = status[LENGTH] if slipping else status[SETPOINT] + pushed
            merge(devices, rod, state, duo, length, status[ANGLE])
            free = substep(rod, state, field, law, work, sheath, status, pushed)
            status[DRAWN] *= devices.alone[int(duo[AHEAD]), free - 1, BEND] / rod.node[free - 1, BEND]
            solver.count(state, free, substeps)
        return free

    return advance


advance = _entry(checksum(Path(__file__).parent))


class Coaxial(Wire):
    """A catheter over a wire in a vessel. `reset` puts the wire at the entry and the catheter's tip into it; `drive`
    pushes and turns both for one control step. `status` is that of the device ahead, but for its angle, the wire's."""

    def __init__(
        self, pair: tuple[Tool, Tool], field: Field, entry: np.ndarray, direction: np.ndarray, physics: Physics
    ):
        wire, catheter = pair
        longer = wire if wire.length_mm >= catheter.length_mm else catheter
        super().__init__(longer, field, entry, direction, physics)
        spacings = physics.spacing_mm, physics.tip_spacing_mm
        alone = [rod_of(wire, *spacings, beside=catheter).node, rod_of(catheter, *spacings, beside=wire).node]
        rows = [profile(tool, GRAIN_MM) for tool in pair]
        most = max(map(len, rows))
        rows = [np.pad(each, ((0, most - len(each)), (0, 0)), mode="edge") for each in rows]
        bounds = [[physics.least_mm, wire.length_mm], [0.0, catheter.length_mm]]
        self.devices = Devices(np.stack(alone), np.stack(rows), np.array(bounds))
        self._divide(self.devices.alone[WIRE].copy())
        self.duo = np.zeros(len(DUO))
        self.catheter_rad = 0.0
        """The angle at which the next `reset` puts the catheter."""

    def reset(self, inserted_mm: float, angle_rad: float) -> None:
        self.duo[:] = WIRE, 0.0, self.catheter_rad
        self.rod.node[:] = self.devices.alone[WIRE]
        super().reset(inserted_mm, angle_rad)

    def step(self, speed_mm_s: float, spin_rad_s: float) -> None:
        """One control step in which the catheter is held."""
        self.drive(np.array([[speed_mm_s, spin_rad_s], [0.0, 0.0]]))

    def drive(self, commands: np.ndarray) -> None:
        """One control step with (device, (mm/s, rad/s)), the wire first. Raises SimulationDiverged as `Wire.step`."""
        speeds, spins = self._stopped(commands[:, 0]), np.ascontiguousarray(commands[:, 1], np.float64)
        state, work = self.state, self._work
        self.free = int(
            advance(
                self.devices, self.rod, state, self._field, self._law, work, self._sheath, self.status, self.duo,
                speeds, spins, self.physics.substeps,
            )
        )  # fmt: skip
        self._check()

    def _stopped(self, speeds: np.ndarray) -> np.ndarray:
        """The speeds (2,), with that of a device which is at its bound 0; and of the slower device, for this control
        step, where one is about to overtake the other as it begins. stEVE's rule, which looks as far ahead as a step of
        SOFA takes."""
        at, bounds = self.lengths, self.devices.bounds
        at[int(self.duo[AHEAD])] = self.status[SETPOINT]
        beyond = ((at <= bounds[:, 0]) & (speeds < 0)) | ((at >= bounds[:, 1]) & (speeds > 0))
        going = np.where(beyond, 0.0, speeds)
        if np.argmax(at) != np.argmax(at + LOOK_AHEAD_S * going):
            return np.where(np.abs(going) == np.abs(going).max(), going, 0.0)
        return np.array(speeds, np.float64)

    @property
    def lengths(self) -> np.ndarray:
        ahead = int(self.duo[AHEAD])
        found = np.full(2, self.duo[BEHIND_MM])
        found[ahead] = self.status[LENGTH]
        return found

    @property
    def angles(self) -> np.ndarray:
        return np.array([self.status[ANGLE], self.duo[TURNED]])

    @property
    def bare(self) -> int:
        wire, catheter = self.lengths
        return int(np.searchsorted(self.rod.node[: self.free, BEHIND], wire - catheter)) if wire > catheter else 0

    @property
    def inserted_mm(self) -> float:
        return float(self.lengths[WIRE])
