"""What the compiled solver works on: tuples of arrays. Units: mm, N, s (mass in N s^2/mm). Entries run from the tip."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

BAND = 9
"""Stored diagonals of the solver's matrix: the main one and eight above."""

LENGTH, ANGLE, FORCE, TORQUE, DEPTH_MAX, FORCE_MAX, ITERATIONS = range(7)
"""Entries of a handle's status: inserted length (mm), angle (rad), push force (N, positive: the wire resists being
pushed), torque (N mm), largest penetration (mm) and contact force (N) of any substep, iterations used."""


class Rod(NamedTuple):
    """What does not change."""

    spacing: float
    radius: float
    mass: np.ndarray
    """Per node."""
    axial: np.ndarray
    """Per edge, N."""
    bend: np.ndarray
    """EI per node, N mm^2."""
    twist: np.ndarray
    """GJ per node, N mm^2."""
    rest: np.ndarray
    """Per node: rest angle between its two edges, rad."""


class State(NamedTuple):
    """What a substep changes, in place."""

    x: np.ndarray
    """(n, 3) nodes."""
    q: np.ndarray
    """(n, 4) edge orientations, quaternions (w, x, y, z)."""
    v: np.ndarray
    """(n, 4) velocities of nodes, and how fast their edges spin about themselves."""
    contact: np.ndarray
    """(n, 5) per node: the wall's force (3), its normal part, penetration (negative: clearance)."""
    mean: np.ndarray
    """(n, 4) forces and normal parts, over the substeps of a control step."""


class Field(NamedTuple):
    """A distance field on a regular grid: negative inside, positive in the wall."""

    values: np.ndarray
    origin: np.ndarray
    spacing: float


class Law(NamedTuple):
    """How a substep is taken."""

    dt: float
    iterations: int
    """At most so many in a substep."""
    wall: float
    """Contact stiffness per node, N/mm."""
    friction: float
    drag: float
    """N s/mm per node."""
    film: float
    """N s/mm per node: damping of the approach to the wall and of the way back, nothing at rest."""


class Sheath(NamedTuple):
    """Where and how the wire is held outside the body."""

    entry: np.ndarray
    direction: np.ndarray
    """Unit vector into the body."""
    orientation: np.ndarray
    """Of a held edge at angle 0: its third director is minus `direction`."""
    max_force: float
    max_torque: float
    min_length: float
    max_length: float


class Work(NamedTuple):
    """Scratch, and outer forces. Matrix and right-hand side have `BAND - 1` spare rows."""

    band: np.ndarray
    """(6n + 8, 16) row k, column m: the entry (k, k + m); columns from `BAND` on are zero."""
    rhs: np.ndarray
    """(6n + 8,)"""
    start: np.ndarray
    """(n, 3) positions and"""
    turned: np.ndarray
    """(n, 4) orientations at the start of the substep."""
    x: np.ndarray
    """(n, 3) positions and"""
    q: np.ndarray
    """(n, 4) orientations at the start of the iteration."""
    film: np.ndarray
    """(n, 5) near the wall: normal, damping along it and across it, lagged."""
    force: np.ndarray
    """(n, 3) outer forces on nodes."""
    jac: np.ndarray
    """(6, 3)"""


def workspace(nodes: int) -> tuple[State, Work]:
    """Zeros for a rod of so many nodes."""
    spare = BAND - 1

    def zeros(width: int) -> np.ndarray:
        return np.zeros((nodes, width))

    band, rhs = np.zeros((6 * nodes + spare, BAND + spare - 1)), np.zeros(6 * nodes + spare)
    work = Work(band, rhs, zeros(3), zeros(4), zeros(3), zeros(4), zeros(5), zeros(3), np.zeros((6, 3)))
    return State(zeros(3), zeros(4), zeros(4), zeros(5), zeros(4)), work
