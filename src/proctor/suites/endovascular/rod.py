"""What the compiled solver works on: tuples of arrays. Units: mm, N, s (mass in N s^2/mm). Entries run from the tip."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

BAND = 9
"""Stored diagonals of the solver's matrix: the main one and eight above."""

STATUS = range(10)
LENGTH, ANGLE, SETPOINT, FORCE, TORQUE, DEPTH_MAX, ITERATIONS, UNSETTLED, PUSHED, DRAWN = STATUS
"""Entries of a handle's status: inserted length (mm), angle (rad), the length that the handle is at (its grip yields),
push force (N, positive: the wire resists being pushed), torque (N mm); of the last control step the largest penetration
(mm, 0 without one), iterations, substeps that ended before they had settled; of the last
substep how far the wire went in (mm), and the force that draws a bent wire out of its sheath (N)."""


COLUMNS = range(10)
BEHIND, EDGE, SPAN, MASS, AXIAL, BEND, TWIST, REST, ASIDE, RADIUS = COLUMNS
"""Columns of a rod's nodes: how far behind the tip the node is (mm); of the edge behind it the length (mm); the length
of wire that the node stands for, half of each of its edges (mm); its mass; of the edge behind it the stiffness against
stretch and shear (N); EI and GJ (N mm^2); the strain between its edges at rest (twice the sine of half the angle) about
the first axis of the frame and about the second, which is 0 but for two devices; the radius of its surface (mm)."""


class Rod(NamedTuple):
    """What does not change while one device is there. One table, as every array is copied with every call of a compiled
    function."""

    node: np.ndarray
    """(n, 10) see `COLUMNS`."""


class State(NamedTuple):
    """What a substep changes, in place."""

    x: np.ndarray
    """(n, 3) nodes."""
    q: np.ndarray
    """(n, 4) edge orientations, quaternions (w, x, y, z)."""
    v: np.ndarray
    """(n, 3) velocities of nodes."""
    contact: np.ndarray
    """(n, 8) per node: the wall's force (3), its normal part, penetration (negative: a lower bound of the clearance),
    the wall's normal where it was last touched (3)."""
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
    """N s/mm per mm of wire."""
    sway: float
    """N s/mm per mm of wire, across it."""


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
    """Scratch, and outer forces."""

    band: np.ndarray
    """(6n + 9, 9) Newton's matrix; row k, column m: the entry (k, k + m)."""
    rhs: np.ndarray
    """(6n + 9,) its right-hand side, then its solution."""
    move: np.ndarray
    """(6n + 9,) the iteration's move."""
    start: np.ndarray
    """(n, 3) positions and"""
    turned: np.ndarray
    """(n, 4) orientations at the start of the substep."""
    x: np.ndarray
    """(n, 3) positions and"""
    q: np.ndarray
    """(n, 4) orientations at the start of the iteration; the row of the held node begins with the inserted length."""
    lag: np.ndarray
    """(n, 6) at the start of the substep: normal (3), bound of friction (N), penetration, slip in the last substep."""
    force: np.ndarray
    """(n, 3) outer forces on nodes."""
    flex: np.ndarray
    """(n,) how much stiffer a hinge is than the rod, near the sheath."""
    jac: np.ndarray
    """(7, 3)"""


def workspace(nodes: int) -> tuple[State, Work]:
    """Zeros for a rod of so many nodes."""

    def zeros(width: int) -> np.ndarray:
        return np.zeros((nodes, width))

    work = Work(
        band=np.zeros((6 * nodes + BAND, BAND)),
        rhs=np.zeros(6 * nodes + BAND),
        move=np.zeros(6 * nodes + BAND),
        start=zeros(3),
        turned=zeros(4),
        x=zeros(3),
        q=zeros(4),
        lag=zeros(6),
        force=zeros(3),
        flex=np.ones(nodes),
        jac=np.zeros((7, 3)),
    )
    return State(zeros(3), zeros(4), zeros(3), zeros(8), zeros(4)), work
