"""The rod solver, compiled: an elastic rod in a distance field, pushed out of a sheath, integrated implicitly.

The rod is a chain of nodes (positions) and edges (orientations), numbered from the tip. Edge j runs from node j to
node j + 1; the third director `d` of its frame points along it. Energy: `k l / 2 |dx / l - d|^2` per edge (stretch and
shear, one numerical stiffness), `1 / (2 l) (w - w0)' diag(EI, EI, GJ) (w - w0)` per inner node (w: twice the vector
part of its edges' relative quaternion, w0: rest angle about the first axis), and springs against penetration.

A substep is backward Euler: Gauss-Newton iterations on this energy with inertia, drag, a damping film at the wall and
lagged Coulomb friction, each followed by a backtracking search. Six unknowns per node (position, rotation of its edge),
tip first: couplings lie within eight diagonals and the matrix is positive definite, so an iteration is one banded
factorisation. Stiffness is that of the energy whatever the substep; only transients depend on it.

The wire comes out of a straight sheath, whose axis holds what has not been inserted, turned by the handle's angle. The
handle is force-limited: near the limit the commanded speed fades to nothing, beyond it the handle yields.

It is one file because numba's cache looks only at the file of the function that is called: a change in another would
leave stale machine code in use. Rows are passed as (array, index), as slices cost.
"""

from __future__ import annotations

import functools

import numpy as np
from numba import njit

from proctor.suites.endovascular.rod import ANGLE, BAND, DEPTH_MAX, FORCE, FORCE_MAX, ITERATIONS, LENGTH, TORQUE

SOFT_MM = 0.2
"""Contact sets in over this distance: half of it before the wall is touched."""
DEEP, DEEP_FACTOR = 0.4, 6.0
"""Penetration, in radii of the wire, from which contact is so much stiffer."""
FILM_MM = 0.4
"""Clearance below which the film between wire and wall damps."""
FRICTION_SLIP_MM_S = 0.05
"""Below this slip speed friction is viscous: the regularisation of sticking."""
MAX_MOVE_MM, MAX_TURN_RAD = 1.5, 0.3
"""Bounds on one iteration."""
SETTLED_MM, LEVER_MM = 5e-3, 2.0
"""An iteration that moves no node further than this, and no edge at this lever, ends the substep."""
YIELDS, HALVINGS = 3, 6
"""How often the handle gives way in a substep that ends above its limit; and how often a bad move is halved."""
FADE = 0.1  # the share of a handle's limit over which the commanded speed fades

compiled = functools.partial(njit, cache=True, nogil=True, error_model="numpy")


@compiled()
def within(value, high):
    """The value cut to 0 .. high; NaN is 0, as it must not become an index."""
    return min(value, high) if value > 0.0 else 0.0


@compiled()
def distance(field, px, py, pz):
    """The field at a point, trilinear; outside the grid that of the grid's nearest point."""
    f = field.values
    ux = within((px - field.origin[0]) / field.spacing, f.shape[0] - 1.001)
    uy = within((py - field.origin[1]) / field.spacing, f.shape[1] - 1.001)
    uz = within((pz - field.origin[2]) / field.spacing, f.shape[2] - 1.001)
    i, j, k = int(ux), int(uy), int(uz)
    a, b, c = ux - i, uy - j, uz - k
    total = 0.0
    for m in range(2):
        for n in range(2):
            share = (a if m == 1 else 1.0 - a) * (b if n == 1 else 1.0 - b)
            total += share * ((1.0 - c) * f[i + m, j + n, k] + c * f[i + m, j + n, k + 1])
    return total


@compiled()
def wall(field, px, py, pz, middle):
    """The unit normal towards the wall, and the wall's curvature (1/mm) where it is hollow towards the wire, 0
    elsewhere (of a tube: one over its radius). From differences over a cell to either side, so that both are
    continuous. `middle` is the distance at the point."""
    e = field.spacing
    east, west = distance(field, px + e, py, pz), distance(field, px - e, py, pz)
    back, front = distance(field, px, py + e, pz), distance(field, px, py - e, pz)
    high, low = distance(field, px, py, pz + e), distance(field, px, py, pz - e)
    gx, gy, gz = east - west, back - front, high - low
    size = np.sqrt(gx * gx + gy * gy + gz * gz) + 1e-12
    hollow = (east + west + back + front + high + low - 6.0 * middle) / (e * e)
    return gx / size, gy / size, gz / size, min(max(hollow, 0.0), 1.0)


@compiled()
def director(q, j):
    """The third column of an edge's rotation matrix."""
    w, x, y, z = q[j, 0], q[j, 1], q[j, 2], q[j, 3]
    return 2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)


@compiled()
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


@compiled()
def relative(q, i, j):
    """The quaternion conj(q_i) q_j, with w not negative."""
    w = q[i, 0] * q[j, 0] + q[i, 1] * q[j, 1] + q[i, 2] * q[j, 2] + q[i, 3] * q[j, 3]
    x = q[i, 0] * q[j, 1] - q[i, 1] * q[j, 0] - q[i, 2] * q[j, 3] + q[i, 3] * q[j, 2]
    y = q[i, 0] * q[j, 2] + q[i, 1] * q[j, 3] - q[i, 2] * q[j, 0] - q[i, 3] * q[j, 1]
    z = q[i, 0] * q[j, 3] - q[i, 1] * q[j, 2] + q[i, 2] * q[j, 1] - q[i, 3] * q[j, 0]
    s = -1.0 if w < 0 else 1.0
    return s * w, s * x, s * y, s * z


@compiled()
def add_square(band, row, scale, x, y, z):
    """Add scale * a a', a = (x, y, z), to the diagonal block that starts at `row`."""
    band[row, 0] += scale * x * x
    band[row, 1] += scale * x * y
    band[row, 2] += scale * x * z
    band[row + 1, 0] += scale * y * y
    band[row + 1, 1] += scale * y * z
    band[row + 2, 0] += scale * z * z


@compiled()
def add_cross(band, row, x, y, z):
    """Add the block -[a]x, a = (x, y, z), right of the diagonal block that starts at `row`."""
    band[row, 4] += z
    band[row, 5] -= y
    band[row + 1, 2] -= z
    band[row + 1, 4] += x
    band[row + 2, 1] += y
    band[row + 2, 2] -= x


@compiled()
def add_vector(rhs, row, scale, x, y, z):
    """Add scale (x, y, z) to three rows."""
    rhs[row] += scale * x
    rhs[row + 1] += scale * y
    rhs[row + 2] += scale * z


@compiled()
def add_diagonal(band, row, column, value):
    """Add a multiple of the identity to a block."""
    band[row, column] += value
    band[row + 1, column] += value
    band[row + 2, column] += value


@compiled()
def add_inertia(rod, state, law, work, free):
    """Mass and drag against the start of the substep, and outer forces."""
    for j in range(free):
        stiff = rod.mass[j] / (law.dt * law.dt) + law.drag / law.dt
        for c in range(3):
            work.band[6 * j + c, 0] += stiff
            moved = state.x[j, c] - work.start[j, c]
            work.rhs[6 * j + c] += rod.mass[j] * state.v[j, c] / law.dt - stiff * moved + work.force[j, c]
            work.band[6 * j + 3 + c, 0] += 1e-9 * rod.axial[j]


@compiled()
def add_stretch(rod, state, work, free):
    """Edges: node j, edge j, node j + 1, of which the last may be held. The residual dx / l - d changes by
    (dx_b - dx_a) / l + [d]x turn."""
    length, band, rhs, x = rod.spacing, work.band, work.rhs, state.x
    for j in range(free):
        k = rod.axial[j]
        dx, dy, dz = director(state.q, j)
        rx = k * ((x[j + 1, 0] - x[j, 0]) / length - dx)
        ry = k * ((x[j + 1, 1] - x[j, 1]) / length - dy)
        rz = k * ((x[j + 1, 2] - x[j, 2]) / length - dz)
        a, e, b = 6 * j, 6 * j + 3, 6 * j + 6
        add_vector(rhs, a, 1.0, rx, ry, rz)
        add_vector(rhs, e, length, dy * rz - dz * ry, dz * rx - dx * rz, dx * ry - dy * rx)
        add_diagonal(band, a, 0, k / length)
        add_diagonal(band, e, 0, k * length)
        add_square(band, e, -k * length, dx, dy, dz)
        add_cross(band, a, k * dx, k * dy, k * dz)
        if j + 1 < free:
            add_vector(rhs, b, -1.0, rx, ry, rz)
            add_diagonal(band, b, 0, k / length)
            add_diagonal(band, a, 6, -k / length)
            add_cross(band, e, k * dx, k * dy, k * dz)


@compiled()
def strain_rate(q, j, jac):
    """Relative quaternion (w, x, y, z) of edges j - 1 and j; in `jac`, how twice (x, y, z) changes with the turn of
    edge j in the world: (w - [v]x) R' with the rotation R of edge j - 1."""
    w, x, y, z = relative(q, j - 1, j)
    pw, px, py, pz = q[j - 1, 0], q[j - 1, 1], q[j - 1, 2], q[j - 1, 3]
    jac[3, 0], jac[3, 1], jac[3, 2] = 1 - 2 * (py * py + pz * pz), 2 * (px * py + pw * pz), 2 * (px * pz - pw * py)
    jac[4, 0], jac[4, 1], jac[4, 2] = 2 * (px * py - pw * pz), 1 - 2 * (px * px + pz * pz), 2 * (py * pz + pw * px)
    jac[5, 0], jac[5, 1], jac[5, 2] = 2 * (px * pz + pw * py), 2 * (py * pz - pw * px), 1 - 2 * (px * px + py * py)
    for m in range(3):
        jac[0, m] = w * jac[3, m] + z * jac[4, m] - y * jac[5, m]
        jac[1, m] = w * jac[4, m] - z * jac[3, m] + x * jac[5, m]
        jac[2, m] = w * jac[5, m] + y * jac[3, m] - x * jac[4, m]
    return x, y, z


@compiled()
def add_bending(rod, state, work, free):
    """Inner nodes 1 .. free: edges j - 1 and j, of which the last may be held."""
    band, rhs, jac = work.band, work.rhs, work.jac
    for j in range(1, free + 1):
        x, y, z = strain_rate(state.q, j, jac)
        bend, twist = rod.bend[j] / rod.spacing, rod.twist[j] / rod.spacing
        sx, sy, sz = bend * (2 * x - rod.rest[j]), bend * 2 * y, twist * 2 * z
        a, b = 6 * j - 3, 6 * j + 3
        both = 1.0 if j < free else 0.0
        for m in range(3):
            torque = jac[0, m] * sx + jac[1, m] * sy + jac[2, m] * sz
            rhs[a + m] += torque
            rhs[b + m] -= both * torque
            for n in range(3):
                h = bend * (jac[0, m] * jac[0, n] + jac[1, m] * jac[1, n]) + twist * jac[2, m] * jac[2, n]
                band[a + m, 6 + n - m] -= both * h
                if n >= m:
                    band[a + m, n - m] += h
                    band[b + m, n - m] += both * h


@compiled()
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
    more = max(depth - DEEP * radius, 0.0) * DEEP_FACTOR
    stiff = stiffness * (1 + DEEP_FACTOR) if more > 0.0 else stiffness
    return energy + 0.5 * stiffness * more * more / DEEP_FACTOR, stiffness * (depth + more), stiff


@compiled()
def spun(before, q, j):
    """By which angle an edge has turned about itself, for small ones."""
    along = before[j, 0] * q[j, 3] - before[j, 3] * q[j, 0]
    return 2 * (along + before[j, 2] * q[j, 1] - before[j, 1] * q[j, 2])


@compiled()
def add_contact(rod, state, field, law, work, free):
    """Normal, friction and film forces at the nodes near the wall. Friction acts on sliding and spinning together, and
    is lagged: normal force and slip are those of the last iteration (in the first one, the slip of the last substep). A
    hollow wall stiffens the way across the wire, as its normal turns when the node slides."""
    band, contact, film, start = work.band, state.contact, work.film, work.start
    for j in range(free):
        px, py, pz = state.x[j, 0], state.x[j, 1], state.x[j, 2]
        outside = distance(field, px, py, pz)
        depth, before = outside + rod.radius, contact[j, 3]
        contact[j, 0], contact[j, 1], contact[j, 2], contact[j, 3], contact[j, 4] = 0.0, 0.0, 0.0, 0.0, depth
        film[j, 3], film[j, 4] = 0.0, 0.0
        if depth <= -FILM_MM:
            continue
        nx, ny, nz, hollow = wall(field, px, py, pz, outside)
        _, push, stiff = spring(law.wall, rod.radius, depth)
        damping = law.film / law.dt * min(1.0, 1.0 + depth / FILM_MM)
        sx, sy, sz = px - start[j, 0], py - start[j, 1], pz - start[j, 2]
        along = sx * nx + sy * ny + sz * nz
        sx, sy, sz = sx - along * nx, sy - along * ny, sz - along * nz
        bound = law.friction * (before if before > 0.0 else push)
        spin = rod.radius * spun(work.turned, state.q, j)
        slip = np.sqrt(sx * sx + sy * sy + sz * sz + spin * spin)
        if slip < 1e-12:
            vx, vy, vz, rim = state.v[j, 0], state.v[j, 1], state.v[j, 2], rod.radius * state.v[j, 3]
            slip = law.dt * np.sqrt(vx * vx + vy * vy + vz * vz + rim * rim)
        drag = bound / max(slip, FRICTION_SLIP_MM_S * law.dt)
        film[j, 0], film[j, 1], film[j, 2], film[j, 3], film[j, 4] = nx, ny, nz, damping, drag
        contact[j, 0], contact[j, 3] = -push * nx - drag * sx, push
        contact[j, 1], contact[j, 2] = -push * ny - drag * sy, -push * nz - drag * sz
        row = 6 * j
        add_vector(work.rhs, row, 1.0, contact[j, 0], contact[j, 1], contact[j, 2])
        add_vector(work.rhs, row, -damping * along, nx, ny, nz)
        add_diagonal(band, row, 0, drag)
        add_square(band, row, stiff + damping - drag, nx, ny, nz)
        if push > 0.0:
            dx, dy, dz = director(state.q, j)
            add_square(band, row, push * hollow, ny * dz - nz * dy, nz * dx - nx * dz, nx * dy - ny * dx)
            add_square(band, row + 3, drag * rod.radius * rod.radius, dx, dy, dz)
            add_vector(work.rhs, row + 3, -drag * rod.radius * spin, dx, dy, dz)


@compiled()
def solve(band, rhs, n):
    """Solve the banded positive definite system in place; the solution is in `rhs`. The innermost loop runs on into
    columns of zeros: its constant length is what makes it fast."""
    for k in range(n):
        inverse = 1.0 / band[k, 0]
        right = rhs[k]
        for m in range(1, BAND):
            factor = band[k, m] * inverse
            for p in range(BAND - 1):
                band[k + m, p] -= factor * band[k, p + m]
            rhs[k + m] -= factor * right
    for m in range(BAND - 1):
        rhs[n + m] = 0.0
    for k in range(n - 1, -1, -1):
        total = rhs[k]
        for m in range(1, BAND):
            total -= band[k, m] * rhs[k + m]
        rhs[k] = total / band[k, 0]


@compiled()
def elastic(rod, state, free):
    """The rod's energy: stretch, shear, bending and torsion, N mm."""
    total = 0.0
    for j in range(free):
        dx, dy, dz = director(state.q, j)
        rx = (state.x[j + 1, 0] - state.x[j, 0]) / rod.spacing - dx
        ry = (state.x[j + 1, 1] - state.x[j, 1]) / rod.spacing - dy
        rz = (state.x[j + 1, 2] - state.x[j, 2]) / rod.spacing - dz
        total += 0.5 * rod.axial[j] * rod.spacing * (rx * rx + ry * ry + rz * rz)
        _, x, y, z = relative(state.q, j, j + 1)
        bent = 2 * x - rod.rest[j + 1]
        total += (rod.bend[j + 1] * (bent * bent + 4 * y * y) + rod.twist[j + 1] * 4 * z * z) / (2 * rod.spacing)
    return total


@compiled()
def objective(rod, state, field, law, work, free):
    """What an iteration lowers: energy, inertia, drag, and film and friction as dampers with lagged coefficients."""
    total = elastic(rod, state, free)
    for j in range(free):
        depth = distance(field, state.x[j, 0], state.x[j, 1], state.x[j, 2]) + rod.radius
        total += spring(law.wall, rod.radius, depth)[0]
        stiff = rod.mass[j] / (law.dt * law.dt) + law.drag / law.dt + work.film[j, 4]
        along = 0.0
        for c in range(3):
            moved = state.x[j, c] - work.start[j, c]
            outer = work.force[j, c] + rod.mass[j] * state.v[j, c] / law.dt
            total += 0.5 * stiff * moved * moved - outer * moved
            along += work.film[j, c] * moved
        total += 0.5 * (work.film[j, 3] - work.film[j, 4]) * along * along
        if work.film[j, 4] > 0.0:
            spin = rod.radius * spun(work.turned, state.q, j)
            total += 0.5 * work.film[j, 4] * spin * spin
    return total


@compiled()
def apply(state, work, free, share):
    """Set nodes and edges to the start of the iteration plus a share of the solution."""
    for j in range(free):
        for c in range(3):
            state.x[j, c] = work.x[j, c] + share * work.rhs[6 * j + c]
        for c in range(4):
            state.q[j, c] = work.q[j, c]
        e = 6 * j + 3
        turn(state.q, j, share * work.rhs[e], share * work.rhs[e + 1], share * work.rhs[e + 2])


@compiled()
def assemble(rod, state, field, law, work, free):
    """Matrix and right-hand side at the current state, which is kept as the start of the iteration."""
    for row in range(6 * free + BAND - 1):
        work.rhs[row] = 0.0
        for m in range(BAND):
            work.band[row, m] = 0.0
    for j in range(free):
        for c in range(3):
            work.x[j, c] = state.x[j, c]
        for c in range(4):
            work.q[j, c] = state.q[j, c]
    add_inertia(rod, state, law, work, free)
    add_stretch(rod, state, work, free)
    add_bending(rod, state, work, free)
    add_contact(rod, state, field, law, work, free)


@compiled()
def iterate(rod, state, field, law, work, free):
    """One Gauss-Newton iteration with a backtracking search; the largest move (mm), an edge's rim included."""
    solve(work.band, work.rhs, 6 * free)
    move, angle = 1e-30, 1e-30
    for j in range(free):
        for c in range(3):
            move = max(move, abs(work.rhs[6 * j + c]))
            angle = max(angle, abs(work.rhs[6 * j + 3 + c]))
    share = min(1.0, min(MAX_MOVE_MM / move, MAX_TURN_RAD / angle))
    before = np.inf  # of the start of the iteration, which the first round measures
    for trial in range(HALVINGS + 2):
        apply(state, work, free, 0.0 if trial == 0 else share)
        energy = objective(rod, state, field, law, work, free)
        if trial == 0:
            before = energy
        elif energy <= before + 1e-9 * abs(before):
            break
        share *= 1.0 if trial == 0 else 0.5
    return share * max(move, LEVER_MM * angle)


@compiled()
def substep(rod, state, field, law, work, free):
    """One step of `law.dt` for nodes and edges 0 .. free - 1; node and edge `free` are held. Iterations used."""
    used = 0
    for j in range(free):
        for c in range(3):
            work.start[j, c] = state.x[j, c]
        for c in range(4):
            work.turned[j, c] = state.q[j, c]
    for _ in range(law.iterations):
        used += 1
        assemble(rod, state, field, law, work, free)
        if iterate(rod, state, field, law, work, free) < SETTLED_MM:
            break
    add_contact(rod, state, field, law, work, free)
    for j in range(free):
        for c in range(3):
            state.v[j, c] = (state.x[j, c] - work.start[j, c]) / law.dt
        state.v[j, 3] = spun(work.turned, state.q, j) / law.dt
    return used


@compiled()
def hold(rod, state, sheath, status):
    """Put what has not been inserted onto the sheath's axis; how many nodes are free (at least one)."""
    free = int(status[LENGTH] / rod.spacing) + 1
    d = sheath.direction
    for j in range(free, min(free + 3, len(state.x))):
        back = j * rod.spacing - status[LENGTH]
        for c in range(3):
            state.x[j, c] = sheath.entry[c] - d[c] * back
        for c in range(4):
            state.q[j, c] = sheath.orientation[c]
            state.v[j, c] = 0.0
        turn(state.q, j, status[ANGLE] * d[0], status[ANGLE] * d[1], status[ANGLE] * d[2])
        state.contact[j, 3] = 0.0
    return free


@compiled()
def feel(rod, state, sheath, status, free):
    """The wire's reaction on the handle, from its last free edge; how far it is beyond the handle's limit."""
    j = free - 1
    dx, dy, dz = director(state.q, j)
    force = -(sheath.direction[0] * dx + sheath.direction[1] * dy + sheath.direction[2] * dz)
    for c in range(3):
        force += sheath.direction[c] * (state.x[j + 1, c] - state.x[j, c]) / rod.spacing
    status[FORCE] = rod.axial[j] * force
    status[TORQUE] = -rod.twist[free] / rod.spacing * 2 * relative(state.q, j, free)[3]
    return abs(status[FORCE]) - sheath.max_force


@compiled()
def gather(state, status, free, share):
    """Add a substep's share to the mean contact forces, and its extremes to the status."""
    for j in range(free):
        status[DEPTH_MAX] = max(status[DEPTH_MAX], state.contact[j, 4])
        status[FORCE_MAX] = max(status[FORCE_MAX], state.contact[j, 3])
        for c in range(4):
            state.mean[j, c] += share * state.contact[j, c]


@compiled()
def yielding(speed, load, limit):
    """The speed that a handle with this load really has: it fades towards the limit in the direction of the load."""
    ahead = load if speed > 0 else -load
    return speed * min(max((limit - ahead) / (FADE * limit), 0.0), 1.0)


@compiled()
def advance(rod, state, field, law, work, sheath, status, speed, spin, substeps):
    """Push with `speed` (mm/s) and turn with `spin` (rad/s) for so many substeps; how many nodes are free then. Stops
    when something is not finite."""
    status[DEPTH_MAX], status[FORCE_MAX], status[ITERATIONS] = 0.0, 0.0, 0.0
    free = hold(rod, state, sheath, status)
    for j in range(len(state.mean)):
        for c in range(4):
            state.mean[j, c] = 0.0
    for _ in range(substeps):
        pushed = law.dt * yielding(speed, status[FORCE], sheath.max_force)
        status[ANGLE] += law.dt * yielding(spin, status[TORQUE], sheath.max_torque)
        if not np.isfinite(pushed + status[ANGLE]):
            break
        for _ in range(YIELDS + 1):
            status[LENGTH] = min(max(status[LENGTH] + pushed, sheath.min_length), sheath.max_length)
            free = hold(rod, state, sheath, status)
            status[ITERATIONS] += substep(rod, state, field, law, work, free)
            excess = feel(rod, state, sheath, status, free)
            if not excess > 0.0:
                break
            give = min(excess * rod.spacing * free / rod.axial[free], 0.3)
            pushed = -give if status[FORCE] > 0 else give
        gather(state, status, free, 1.0 / substeps)
    return free
