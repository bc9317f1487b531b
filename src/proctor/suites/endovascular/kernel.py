"""The rod solver, compiled: an elastic rod in a distance field, pushed out of a sheath, integrated implicitly.

The rod is a chain of nodes (positions) and edges (orientations), numbered from the tip. Edge j runs from node j to
node j + 1; the third director `d` of its frame points along it. Energy: `k l / 2 |dx / l - d|^2` per edge (stretch and
shear, one numerical stiffness), `1 / (2 l) (w - w0)' diag(EI, EI, GJ) (w - w0)` per inner node (w: twice the vector
part of its edges' relative quaternion, w0: rest angles about the first two axes), springs against penetration, and the
grip of the handle: a spring between the inserted length and its set point, whose force ends at the handle's limit.

A substep is backward Euler: it minimises this energy plus inertia, drag and Coulomb friction, whose potential is smooth
and takes normals and normal forces from the substep before. Newton's method with the exact second derivatives; where
these are not positive definite (a wire about to buckle), with those of Gauss and Newton; a backtracking search either
way. All terms are exact derivatives of one function, so that a search never fails for want of consistency. Six unknowns
per node (position, rotation of its edge), tip first, the inserted length last: couplings lie within eight diagonals,
and an iteration is one assembly and one banded elimination. Stiffness is that of the energy whatever the substep.

The wire comes out of a straight sheath, whose axis holds what has not been inserted, turned by the handle's angle.

Rows are passed as (array, index), as slices cost; functions are few, as each is compiled again with its callers.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from proctor.kernels import kept
from proctor.suites.endovascular.rod import (
    ANGLE,
    ASIDE,
    AXIAL,
    BAND,
    BEHIND,
    BEND,
    DEPTH_MAX,
    DRAWN,
    EDGE,
    FORCE,
    ITERATIONS,
    LENGTH,
    MASS,
    PUSHED,
    RADIUS,
    REST,
    SETPOINT,
    SPAN,
    TORQUE,
    TWIST,
    UNSETTLED,
)
from proctor.suites.endovascular.spline import sample

SOFT_MM = 0.2
"""Contact sets in over this distance: half of it before the wall is touched."""
DEEP, DEEP_FACTOR = 0.4, 6.0
"""Penetration, in radii of the wire, from which contact is so much stiffer."""
FRICTION_SLIP_MM_S = 0.05
"""Below this slip speed friction is viscous: the regularisation of sticking."""
MAX_MOVE_MM, MAX_TURN_RAD, HALVINGS = 1.5, 0.4, 7
"""Bounds on one iteration, and how often a move that raises the energy is shortened."""
SETTLED_N_MM = 1e-5
"""A substep ends when the next iteration would lower the energy by less than about this."""
GRIP_N_MM = 20.0
"""Stiffness of the handle's grip."""
CLAMPED, SLIPPING = 0.05, 0.1
"""The least share of an edge that a hinge at the sheath stands for; what is left of the grip's stiffness in Newton's
system where it slips."""
STEEP = 1.75
"""Bound on the slope of an interpolated distance field."""

OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
compiled = functools.partial(kept, **OPTIONS)
inner = functools.partial(kept, no_cpython_wrapper=True, no_cfunc_wrapper=True, **OPTIONS)
"""Without what Python needs to call it, which takes longer to compile than the function."""


@compiled()
def director(q, j):
    """The third column of an edge's rotation matrix."""
    w, x, y, z = q[j, 0], q[j, 1], q[j, 2], q[j, 3]
    return 2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)


@inner()
def turn(q, j, ax, ay, az):
    """Turn an edge in place by a rotation vector of the world frame."""
    angle = np.sqrt(ax * ax + ay * ay + az * az)
    s = 0.5 if angle < 1e-9 else np.sin(0.5 * angle) / angle
    c, x, y, z = np.cos(0.5 * angle), s * ax, s * ay, s * az
    w0, x0, y0, z0 = q[j, 0], q[j, 1], q[j, 2], q[j, 3]
    w1 = c * w0 - x * x0 - y * y0 - z * z0
    x1 = c * x0 + x * w0 + y * z0 - z * y0
    y1 = c * y0 - x * z0 + y * w0 + z * x0
    z1 = c * z0 + x * y0 - y * x0 + z * w0
    size = 1.0 / np.sqrt(w1 * w1 + x1 * x1 + y1 * y1 + z1 * z1)
    q[j, 0], q[j, 1], q[j, 2], q[j, 3] = w1 * size, x1 * size, y1 * size, z1 * size


@inner()
def relative(q, i, j):
    """The quaternion conj(q_i) q_j, with w not negative."""
    w = q[i, 0] * q[j, 0] + q[i, 1] * q[j, 1] + q[i, 2] * q[j, 2] + q[i, 3] * q[j, 3]
    x = q[i, 0] * q[j, 1] - q[i, 1] * q[j, 0] - q[i, 2] * q[j, 3] + q[i, 3] * q[j, 2]
    y = q[i, 0] * q[j, 2] + q[i, 1] * q[j, 3] - q[i, 2] * q[j, 0] - q[i, 3] * q[j, 1]
    z = q[i, 0] * q[j, 3] - q[i, 1] * q[j, 2] + q[i, 2] * q[j, 1] - q[i, 3] * q[j, 0]
    s = -1.0 if w < 0 else 1.0
    return s * w, s * x, s * y, s * z


@inner()
def edges(rod, state, work, free, exact):
    """Stretch and shear of edge j between nodes j and j + 1. Overwrites matrix and right-hand side; returns the energy.
    With k the stiffness and r = k (dx / l - d), `exact` 1 takes the second derivative in the edge's turn,
    k ((dx.d) - sym(dx d')), 0 that of a straight edge."""
    band, rhs, x = work.band, work.rhs, state.x
    total, before, px, py, pz = 0.0, 0.0, 0.0, 0.0, 0.0
    for j in range(free):
        k, length = rod.node[j, AXIAL], rod.node[j, EDGE]
        dx, dy, dz = director(state.q, j)
        lx, ly, lz = x[j + 1, 0] - x[j, 0], x[j + 1, 1] - x[j, 1], x[j + 1, 2] - x[j, 2]
        rx, ry, rz = k * (lx / length - dx), k * (ly / length - dy), k * (lz / length - dz)
        total += 0.5 * length / k * (rx * rx + ry * ry + rz * rz)
        a, e = 6 * j, 6 * j + 3
        rhs[a], rhs[a + 1], rhs[a + 2] = rx - px, ry - py, rz - pz
        rhs[e], rhs[e + 1] = length * (dy * rz - dz * ry), length * (dz * rx - dx * rz)
        rhs[e + 2] = length * (dx * ry - dy * rx)
        px, py, pz = rx, ry, rz
        if exact < 0.5:
            lx, ly, lz = length * dx, length * dy, length * dz
        for row in range(a, a + 6):
            for m in range(BAND):
                band[row, m] = 0.0
        for c in range(3):
            band[a + c, 0], band[a + c, 6] = k / length + before, -k / length
        before = k / length
        dot = lx * dx + ly * dy + lz * dz
        band[e, 0], band[e + 1, 0], band[e + 2, 0] = k * (dot - lx * dx), k * (dot - ly * dy), k * (dot - lz * dz)
        band[e, 1], band[e, 2] = -0.5 * k * (lx * dy + ly * dx), -0.5 * k * (lx * dz + lz * dx)
        band[e + 1, 1] = -0.5 * k * (ly * dz + lz * dy)
        for row in (a, e):
            band[row, 4], band[row, 5], band[row + 1, 2] = k * dz, -k * dy, -k * dz
            band[row + 1, 4], band[row + 2, 1], band[row + 2, 2] = k * dx, k * dy, -k * dx
    return total


@inner()
def grip(rod, state, work, sheath, status, free):
    """The last unknown: the inserted length, which moves the held node along the sheath. Returns the energy of the
    handle's grip, and of the force that draws the wire out of the sheath, as it was in the substep before."""
    band, d, j, last = work.band, sheath.direction, free - 1, 6 * free
    k, length = rod.node[j, AXIAL], rod.node[j, EDGE]
    ex, ey, ez = director(state.q, j)
    for row in range(last, last + BAND):
        work.rhs[row] = 0.0
        for m in range(BAND):
            band[row, m] = 0.0
    pull = k * (ex * d[0] + ey * d[1] + ez * d[2])
    for c in range(3):
        pull -= k / length * d[c] * (state.x[free, c] - state.x[j, c])
        for m in range(3):
            band[last - 6 + c, 6 + m - c] = 0.0
            band[last - 3 + c, 3 + m - c] = 0.0
        band[last - 6 + c, 6 - c] = -k / length * d[c]
    band[last - 3, 3] = -k * (ey * d[2] - ez * d[1])
    band[last - 2, 2] = -k * (ez * d[0] - ex * d[2])
    band[last - 1, 1] = -k * (ex * d[1] - ey * d[0])
    ahead, most = status[SETPOINT] - status[LENGTH], sheath.max_force / GRIP_N_MM
    held = min(max(ahead, -most), most)
    work.rhs[last] = pull + GRIP_N_MM * held + status[DRAWN]
    band[last, 0] = k / length + GRIP_N_MM * (1.0 if held == ahead else SLIPPING * held / ahead)
    return GRIP_N_MM * held * (ahead - 0.5 * held) - status[DRAWN] * status[LENGTH]


@inner()
def hinges(rod, state, work, free, exact):
    """Bending and torsion at the inner nodes 1 .. free: edges j - 1 and j, of which the last is held. Adds to matrix
    and right-hand side; returns the energy. J is how the strain w changes with the turn of edge j in the world,
    (w - [v]x) R' with the relative quaternion (w, v) and the rotation R of edge j - 1; t = J's, s = K (w - w0), is the
    torque between the edges. The second derivative is J'KJ and, with `exact` 1, what a turning torque adds."""
    band, rhs, q, jac, force = work.band, work.rhs, state.q, work.jac, work.jac[6]
    total = 0.0
    for j in range(1, free + 1):
        w, x, y, z = relative(q, j - 1, j)
        pw, px, py, pz = q[j - 1, 0], q[j - 1, 1], q[j - 1, 2], q[j - 1, 3]
        jac[3, 0], jac[3, 1], jac[3, 2] = 1 - 2 * (py * py + pz * pz), 2 * (px * py + pw * pz), 2 * (px * pz - pw * py)
        jac[4, 0], jac[4, 1], jac[4, 2] = 2 * (px * py - pw * pz), 1 - 2 * (px * px + pz * pz), 2 * (py * pz + pw * px)
        jac[5, 0], jac[5, 1], jac[5, 2] = 2 * (px * pz + pw * py), 2 * (py * pz - pw * px), 1 - 2 * (px * px + py * py)
        share = work.flex[j] / rod.node[j, SPAN]
        bend, twist = rod.node[j, BEND] * share, rod.node[j, TWIST] * share
        strain, aside = 2 * x - rod.node[j, REST] / work.flex[j], 2 * y - rod.node[j, ASIDE] / work.flex[j]
        sx, sy, sz = bend * strain, bend * aside, twist * 2 * z
        total += 0.5 * (sx * strain + sy * aside + sz * 2 * z)
        for m in range(3):
            jac[0, m] = w * jac[3, m] + z * jac[4, m] - y * jac[5, m]
            jac[1, m] = w * jac[4, m] - z * jac[3, m] + x * jac[5, m]
            jac[2, m] = w * jac[5, m] + y * jac[3, m] - x * jac[4, m]
            force[m] = jac[0, m] * sx + jac[1, m] * sy + jac[2, m] * sz
        ease = exact * 0.5 * (sx * x + sy * y + sz * z)
        inner = 1.0 if j < free else 0.0
        a, b, half = 6 * j - 3, 6 * j + 3, 0.5 * exact * inner
        for m in range(3):
            rhs[a + m] += force[m]
            rhs[b + m] -= inner * force[m]
            for n in range(3):
                h = bend * (jac[0, m] * jac[0, n] + jac[1, m] * jac[1, n]) + twist * jac[2, m] * jac[2, n]
                h -= ease if n == m else 0.0
                band[a + m, 6 + n - m] -= inner * h
                if n >= m:
                    band[a + m, n - m] += h
                    band[b + m, n - m] += inner * h
        band[a, 7] -= half * force[2]
        band[a, 8] += half * force[1]
        band[a + 1, 5] += half * force[2]
        band[a + 1, 7] -= half * force[0]
        band[a + 2, 4] -= half * force[1]
        band[a + 2, 5] += half * force[0]
    return total


@inner()
def spring(stiffness, radius, depth):
    """Energy, force and stiffness of the contact at this penetration. Beyond `DEEP` radii it is much stiffer, so that
    no centre of a node comes near the wall."""
    e = depth + 0.5 * SOFT_MM
    if e <= 0.0:
        return 0.0, 0.0, 0.0
    if e < SOFT_MM:
        scale = stiffness / SOFT_MM
        return scale * e * e * e / 6, scale * e * e / 2, scale * e
    energy = 0.5 * stiffness * (depth * depth + SOFT_MM * SOFT_MM / 12)
    more = max(depth - max(DEEP * radius, 0.5 * SOFT_MM), 0.0) * DEEP_FACTOR
    stiff = stiffness * (1 + DEEP_FACTOR) if more > 0.0 else stiffness
    return energy + 0.5 * stiffness * more * more / DEEP_FACTOR, stiffness * (depth + more), stiff


@inner()
def add_square(band, row, scale, x, y, z):
    """Add scale * a a', a = (x, y, z), to the diagonal block that starts at `row`."""
    band[row, 0] += scale * x * x
    band[row, 1] += scale * x * y
    band[row, 2] += scale * x * z
    band[row + 1, 0] += scale * y * y
    band[row + 1, 1] += scale * y * z
    band[row + 2, 0] += scale * z * z


@inner()
def nodes(rod, state, field, law, work, free, exact):
    """Inertia, drag, sway, outer forces, contact and friction. Adds to matrix and right-hand side, fills
    `state.contact`; returns the energy. Nodes that cannot have come to the wall since the start of the substep are not
    looked up."""
    band, rhs, x, contact, start, lag = work.band, work.rhs, state.x, state.contact, work.start, work.lag
    total = 0.0
    for j in range(free):
        sway = law.sway * rod.node[j, SPAN] / law.dt
        steady = rod.node[j, MASS] / (law.dt * law.dt) + law.drag * rod.node[j, SPAN] / law.dt + sway
        dx, dy, dz = director(work.turned, j)
        mx, my, mz = x[j, 0] - start[j, 0], x[j, 1] - start[j, 1], x[j, 2] - start[j, 2]
        along, moved = mx * dx + my * dy + mz * dz, mx * mx + my * my + mz * mz
        total += 0.5 * (steady * moved - sway * along * along)
        add_square(band, 6 * j, -sway, dx, dy, dz)
        for c, way, d in ((0, mx, dx), (1, my, dy), (2, mz, dz)):
            outer = work.force[j, c] + rod.node[j, MASS] * state.v[j, c] / law.dt
            total -= outer * way
            rhs[6 * j + c] += outer - steady * way + sway * along * d
            band[6 * j + c, 0] += steady
            contact[j, c] = 0.0
        contact[j, 3], contact[j, 4] = 0.0, lag[j, 4] + STEEP * np.sqrt(moved)
        if contact[j, 4] > -0.5 * SOFT_MM:
            total += touch(rod, state, field, law, work, j, exact)
        if lag[j, 3] > 0.0:
            total += rub(rod, state, law, work, j)
    return total


@inner()
def touch(rod, state, field, law, work, j, exact):
    """Contact at one node; its energy. With `exact` 0 the wall's curvature counts only across the wire, and only where
    it is hollow."""
    band, rhs, contact, x, a = work.band, work.rhs, state.contact, state.x, 6 * j
    value, gx, gy, gz, xx, yy, zz, xy, xz, yz = sample(field, x[j, 0], x[j, 1], x[j, 2])
    radius = rod.node[j, RADIUS]
    energy, push, stiff = spring(law.wall, radius, value + radius)
    contact[j, 4] = value + radius
    if push == 0.0:
        return 0.0
    size = np.sqrt(gx * gx + gy * gy + gz * gz) + 1e-12
    for c, g in ((0, gx), (1, gy), (2, gz)):
        rhs[6 * j + c] -= push * g
        contact[j, c], contact[j, 5 + c] = -push * g, g / size
    contact[j, 3] = push * size
    add_square(band, 6 * j, stiff, gx, gy, gz)
    if exact < 0.5:
        dx, dy, dz = director(state.q, j)
        hollow = max(xx + yy + zz, 0.0)
        add_square(band, a, push * hollow, gy * dz - gz * dy, gz * dx - gx * dz, gx * dy - gy * dx)
        return energy
    band[a, 0], band[a, 1], band[a, 2] = band[a, 0] + push * xx, band[a, 1] + push * xy, band[a, 2] + push * xz
    band[a + 1, 0], band[a + 1, 1] = band[a + 1, 0] + push * yy, band[a + 1, 1] + push * yz
    band[a + 2, 0] += push * zz
    return energy


@inner()
def rub(rod, state, law, work, j):
    """Friction at one node, sliding and spinning together, bounded by `work.lag`; its energy. The second derivative is
    that of the tangent parabola."""
    band, rhs, lag, start, contact = work.band, work.rhs, work.lag, work.start, state.contact
    nx, ny, nz, bound = lag[j, 0], lag[j, 1], lag[j, 2], lag[j, 3]
    sx, sy, sz = state.x[j, 0] - start[j, 0], state.x[j, 1] - start[j, 1], state.x[j, 2] - start[j, 2]
    along = sx * nx + sy * ny + sz * nz
    sx, sy, sz = sx - along * nx, sy - along * ny, sz - along * nz
    dx, dy, dz = director(state.q, j)
    q, t, radius = state.q, work.turned, rod.node[j, RADIUS]
    spin = 2 * radius * (t[j, 0] * q[j, 3] - t[j, 3] * q[j, 0] + t[j, 2] * q[j, 1] - t[j, 1] * q[j, 2])
    slip, small = np.sqrt(sx * sx + sy * sy + sz * sz + spin * spin), FRICTION_SLIP_MM_S * law.dt
    drag, wide = bound / max(slip, small), bound / max(slip, max(small, lag[j, 5]))
    for c, s, d in ((0, sx, dx), (1, sy, dy), (2, sz, dz)):
        rhs[6 * j + c] -= drag * s
        rhs[6 * j + 3 + c] -= drag * radius * spin * d
        band[6 * j + c, 0] += wide
        contact[j, c] -= drag * s
    add_square(band, 6 * j, -wide, nx, ny, nz)
    add_square(band, 6 * j + 3, wide * radius * radius, dx, dy, dz)
    return bound * (slip - 0.5 * small if slip > small else 0.5 * slip * slip / small)


@inner()
def solve(band, rhs, n):
    """Solve the banded system in place; the solution is in `rhs`. Returns right-hand side times solution: twice what
    the energy falls if it is a parabola; -1 where the matrix is not positive definite."""
    gain = 0.0
    for k in range(n):
        if not band[k, 0] > 0.0:
            return -1.0
        inverse, right = 1.0 / band[k, 0], rhs[k]
        gain += right * right * inverse
        for m in range(1, BAND):
            factor = band[k, m] * inverse
            rhs[k + m] -= factor * right
            for p in range(m, BAND):
                band[k + m, p - m] -= factor * band[k, p]
        band[k, 0] = inverse
    x1, x2, x3, x4, x5, x6, x7, x8 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(n - 1, -1, -1):
        far = (band[k, 8] * x8 + band[k, 7] * x7) + (band[k, 6] * x6 + band[k, 5] * x5)
        near = band[k, 4] * x4 + band[k, 3] * x3 + band[k, 2] * x2
        x = (rhs[k] - (far + near) - band[k, 1] * x1) * band[k, 0]
        x1, x2, x3, x4, x5, x6, x7, x8 = x, x1, x2, x3, x4, x5, x6, x7
        rhs[k] = x
    return gain


@inner()
def assemble(rod, state, field, law, work, sheath, status, free, exact):
    """Newton's system at the current state; returns the energy that a substep lowers."""
    total = edges(rod, state, work, free, exact)
    total += grip(rod, state, work, sheath, status, free)
    total += hinges(rod, state, work, free, exact)
    return total + nodes(rod, state, field, law, work, free, exact)


@inner()
def begin(state, law, work, free, ratio, bound):
    """Keep the state at the start of a substep, and what friction takes from the last one. Then guess the next state:
    everything goes on as it went, `ratio` times as far, unless a node would go beyond the bound."""
    x, q, start, turned, lag = state.x, state.q, work.start, work.turned, work.lag
    for j in range(free):
        for c in range(3):
            if not ratio * abs(x[j, c] - start[j, c]) < bound:
                ratio = 0.0
    for j in range(free):
        moved, size = 0.0, 0.0
        for c in range(3):
            here, way = x[j, c], x[j, c] - start[j, c]
            x[j, c], start[j, c], lag[j, c] = here + ratio * way, here, state.contact[j, 5 + c]
            moved += way * way
        for c in range(4):
            here = q[j, c]
            q[j, c], turned[j, c] = here + ratio * (here - turned[j, c]), here
            size += q[j, c] * q[j, c]
        for c in range(4):
            q[j, c] /= np.sqrt(size)
        lag[j, 3], lag[j, 4], lag[j, 5] = law.friction * state.contact[j, 3], state.contact[j, 4], np.sqrt(moved)


@inner()
def apply(rod, state, work, sheath, status, free, share):
    """Set nodes, edges and the inserted length to the start of the iteration plus a share of the move."""
    move = work.move
    for j in range(free):
        for c in range(3):
            state.x[j, c] = work.x[j, c] + share * move[6 * j + c]
        for c in range(4):
            state.q[j, c] = work.q[j, c]
        e = 6 * j + 3
        turn(state.q, j, share * move[e], share * move[e + 1], share * move[e + 2])
    status[LENGTH] = work.x[free, 0] + share * move[6 * free]
    for c in range(3):
        state.x[free, c] = sheath.entry[c] - sheath.direction[c] * (rod.node[free, BEHIND] - status[LENGTH])


@inner()
def keep(state, work, status, free):
    """Keep state and move at the start of an iteration; by how much the move is beyond its bounds, at least 1."""
    largest, move, rhs = 1.0, work.move, work.rhs
    work.x[free, 0], move[6 * free] = status[LENGTH], rhs[6 * free]
    for j in range(free):
        for c in range(3):
            work.x[j, c] = state.x[j, c]
            move[6 * j + c], move[6 * j + 3 + c] = rhs[6 * j + c], rhs[6 * j + 3 + c]
            largest = max(largest, max(abs(rhs[6 * j + c]) / MAX_MOVE_MM, abs(rhs[6 * j + 3 + c]) / MAX_TURN_RAD))
        for c in range(4):
            work.q[j, c] = state.q[j, c]
    return largest


@inner()
def settle(rod, state, field, law, work, sheath, status, free):
    """Minimise for nodes and edges 0 .. free - 1 and the inserted length; edge `free` is held. Iterations used; one
    more than `law.iterations` where it did not settle."""
    energy = assemble(rod, state, field, law, work, sheath, status, free, 1.0)
    for used in range(1, law.iterations + 1):
        gain = solve(work.band, work.rhs, 6 * free + 1)
        if gain < 0.0:
            assemble(rod, state, field, law, work, sheath, status, free, 0.0)
            gain = solve(work.band, work.rhs, 6 * free + 1)
        if not gain >= 0.0:
            break
        after, share = energy, 1.0 / keep(state, work, status, free)
        for _ in range(HALVINGS + 1):
            apply(rod, state, work, sheath, status, free, share)
            after = assemble(rod, state, field, law, work, sheath, status, free, 1.0)
            if after <= energy - 1e-4 * share * gain + 1e-10:
                break
            share *= min(max(0.5 * share * gain / (after - energy + share * gain), 0.1), 0.5)
        energy = after
        if gain < SETTLED_N_MM:
            return used
    return law.iterations + 1


@compiled()
def free_nodes(rod, length):
    """How many nodes are in the body when so much of the wire is inserted."""
    return np.searchsorted(rod.node[:, BEHIND], length, side="right")


@inner()
def hold(rod, state, work, sheath, status, free, by):
    """Put what has not been inserted onto the sheath's axis, where it has moved by so much: the next nodes, and those
    that this move brings in, where they were before it. Of the last hinges only what is inside the body bends, and only
    so much of the rest angle shows: a hinge stands for half an edge to either side."""
    d, x, q = sheath.direction, state.x, state.q
    for j in range(min(free, free_nodes(rod, status[LENGTH] - by)), min(free + 3, len(x))):
        back, last = rod.node[j, BEHIND] - status[LENGTH], by
        if j < free:
            back, last = back + by, status[PUSHED]
        for c in range(3):
            x[j, c] = sheath.entry[c] - d[c] * back
            work.start[j, c], state.v[j, c] = x[j, c] - d[c] * last, 0.0
        for c in range(4):
            q[j, c] = sheath.orientation[c]
        turn(q, j, status[ANGLE] * d[0], status[ANGLE] * d[1], status[ANGLE] * d[2])
        for c in range(4):
            work.turned[j, c] = q[j, c]
        state.contact[j, 3], state.contact[j, 4] = 0.0, rod.node[j, RADIUS]
    for j in range(1, free + 1):
        inside = (status[LENGTH] - rod.node[j, BEHIND] + 0.5 * rod.node[j - 1, EDGE]) / rod.node[j, SPAN]
        work.flex[j] = 1.0 / min(max(inside, CLAMPED), 1.0)


@inner()
def drawn(rod, state, work, free):
    """The force with which a wire that is bent or twisted at the mouth of the sheath comes out of it: the energy per
    length there, for in the sheath it is straight. Without it the handle's work would not be what the wire stores."""
    j = free if work.flex[free] < 1.0 / CLAMPED else free - 1
    if j < 1:
        return 0.0
    _, x, y, z = relative(state.q, j - 1, j)
    share = 2.0 * work.flex[j] / rod.node[j, SPAN]
    return 0.5 * share * share * (rod.node[j, BEND] * (x * x + y * y) + rod.node[j, TWIST] * z * z)


@inner()
def substep(rod, state, field, law, work, sheath, status, pushed):
    """One step of `law.dt` with the handle's set point moved by `pushed`; how many nodes are free."""
    most = sheath.max_force / GRIP_N_MM
    status[SETPOINT] = min(max(status[SETPOINT] + pushed, sheath.min_length), sheath.max_length)
    slipping = abs(status[FORCE]) > 0.99 * sheath.max_force and status[FORCE] * pushed > 0.0
    by = 0.0 if slipping else status[SETPOINT] - status[LENGTH]
    status[LENGTH] += by
    free = free_nodes(rod, status[LENGTH])
    hold(rod, state, work, sheath, status, free, by)
    steady = by * status[PUSHED] > 0.0 and abs(by) < 2 * abs(status[PUSHED])
    begin(state, law, work, free, by / status[PUSHED] if steady else 0.0, 2 * abs(by))
    before = status[LENGTH] - by
    used = settle(rod, state, field, law, work, sheath, status, free)
    status[PUSHED] = status[LENGTH] - before
    status[ITERATIONS] += min(used, law.iterations)
    status[UNSETTLED] += 1.0 if used > law.iterations else 0.0
    held = min(max(status[SETPOINT] - status[LENGTH], -most), most)
    status[SETPOINT], status[FORCE] = status[LENGTH] + held, GRIP_N_MM * held
    status[DRAWN] = drawn(rod, state, work, free)
    status[TORQUE] = (
        -rod.node[free, TWIST] * work.flex[free] / rod.node[free, SPAN] * 2 * relative(state.q, free - 1, free)[3]
    )
    for j in range(free):
        status[DEPTH_MAX] = max(status[DEPTH_MAX], state.contact[j, 4])
        for c in range(3):
            state.v[j, c] = (state.x[j, c] - work.start[j, c]) / law.dt
    return free
