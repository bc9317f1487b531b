"""Compiled loops over worlds and bodies, for what every step needs. Each world is computed for itself, so its bytes do
not depend on the others.

Importing this imports numba, so it is imported where it is used; the loops are compiled when they are first called, and
kept for the next time. Arrays are C-contiguous float64, indices int64, quaternions wxyz. All of it is in one file,
since numba notices a change only in the file of the function that is called.
"""

from __future__ import annotations

import math
from typing import Any

from proctor.kernels import kept


@kept(nogil=True)
def _rotated(q: Any, x: float, y: float, z: float) -> tuple[float, float, float]:
    """The vector, rotated by q."""
    tx, ty, tz = 2.0 * (q[2] * z - q[3] * y), 2.0 * (q[3] * x - q[1] * z), 2.0 * (q[1] * y - q[2] * x)
    return (
        x + q[0] * tx + (q[2] * tz - q[3] * ty),
        y + q[0] * ty + (q[3] * tx - q[1] * tz),
        z + q[0] * tz + (q[1] * ty - q[2] * tx),
    )


@kept(nogil=True)
def _multiply(a: Any, b0: float, b1: float, b2: float, b3: float) -> tuple[float, float, float, float]:
    """b first, then a; normalised."""
    w = a[0] * b0 - a[1] * b1 - a[2] * b2 - a[3] * b3
    x = a[0] * b1 + a[1] * b0 + a[2] * b3 - a[3] * b2
    y = a[0] * b2 - a[1] * b3 + a[2] * b0 + a[3] * b1
    z = a[0] * b3 + a[1] * b2 - a[2] * b1 + a[3] * b0
    scale = 1.0 / math.sqrt(w * w + x * x + y * y + z * z)
    return w * scale, x * scale, y * scale, z * scale


@kept(nogil=True)
def settle(rolled: Any, before: Any, least_s: float, out: Any) -> None:
    """Of the states (n, substeps, s) of a rollout the last ones, with time 0, and whether the simulation broke down:
    MuJoCo then starts the clock anew, so that it shows less than `least_s`, or leaves numbers that are not finite. Such
    a world is put where it was before."""
    states, broken = out
    last = rolled.shape[1] - 1
    for i in range(len(rolled)):
        total = 0.0
        for j in range(rolled.shape[2]):
            states[i, j] = rolled[i, last, j]
            total += abs(rolled[i, last, j])
        broken[i] = not (rolled[i, last, 0] > least_s and total < math.inf)
        if broken[i]:
            for j in range(rolled.shape[2]):
                states[i, j] = before[i, j]
        states[i, 0] = 0.0


@kept(nogil=True)
def forward(states: Any, tree: Any, out: Any) -> None:
    """Poses and velocities of all B bodies in n states (n, 1 + nq + nv: time, qpos, qvel), written into `out`: pos
    (n, B, 3), quat (n, B, 4), lin_vel (n, B, 3), ang_vel (n, B, 3). `tree` has for each body its parent (-1: the
    world), position and rotation in it, first hinge and number of hinges; for each hinge its place, axis and zero
    angle; and the root."""
    parents, places, rotations, first, count, anchors, axes, zeros, root = tree
    pos, quat, lin, ang = out
    v = 8 + len(zeros)
    for i in range(len(states)):
        state = states[i]
        for b in range(len(parents)):
            p, q = parents[b], quat[i, b]
            if b == root:
                q[0], q[1], q[2], q[3] = _multiply(state[4:8], 1.0, 0.0, 0.0, 0.0)
                px, py, pz = state[1], state[2], state[3]
                vx, vy, vz = state[v], state[v + 1], state[v + 2]
                ox, oy, oz = _rotated(q, state[v + 3], state[v + 4], state[v + 5])
            elif p < 0:
                q[0], q[1], q[2], q[3] = rotations[b, 0], rotations[b, 1], rotations[b, 2], rotations[b, 3]
                px, py, pz = places[b, 0], places[b, 1], places[b, 2]
                vx, vy, vz, ox, oy, oz = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
            else:
                ax, ay, az = _rotated(quat[i, p], places[b, 0], places[b, 1], places[b, 2])
                px, py, pz = pos[i, p, 0] + ax, pos[i, p, 1] + ay, pos[i, p, 2] + az
                ox, oy, oz = ang[i, p, 0], ang[i, p, 1], ang[i, p, 2]
                vx = lin[i, p, 0] + oy * az - oz * ay
                vy = lin[i, p, 1] + oz * ax - ox * az
                vz = lin[i, p, 2] + ox * ay - oy * ax
                q[0], q[1], q[2], q[3] = _multiply(
                    quat[i, p], rotations[b, 0], rotations[b, 1], rotations[b, 2], rotations[b, 3]
                )
                for j in range(first[b], first[b] + count[b]):
                    hx, hy, hz = _rotated(q, anchors[j, 0], anchors[j, 1], anchors[j, 2])
                    gx, gy, gz = _rotated(q, axes[j, 0], axes[j, 1], axes[j, 2])
                    half, speed = 0.5 * (state[8 + j] - zeros[j]), state[v + 6 + j]
                    s, c = math.sin(half), math.cos(half)
                    q[0], q[1], q[2], q[3] = _multiply(q, c, s * axes[j, 0], s * axes[j, 1], s * axes[j, 2])
                    kx, ky, kz = _rotated(q, anchors[j, 0], anchors[j, 1], anchors[j, 2])
                    px, py, pz = px + hx - kx, py + hy - ky, pz + hz - kz
                    vx, vy, vz = vx + oy * hz - oz * hy, vy + oz * hx - ox * hz, vz + ox * hy - oy * hx
                    ox, oy, oz = ox + gx * speed, oy + gy * speed, oz + gz * speed
                    vx, vy, vz = vx - (oy * kz - oz * ky), vy - (oz * kx - ox * kz), vz - (ox * ky - oy * kx)
            pos[i, b, 0], pos[i, b, 1], pos[i, b, 2] = px, py, pz
            lin[i, b, 0], lin[i, b, 1], lin[i, b, 2] = vx, vy, vz
            ang[i, b, 0], ang[i, b, 1], ang[i, b, 2] = ox, oy, oz


@kept(nogil=True)
def state(qpos: Any, qvel: Any, default: Any, out: Any) -> None:
    """The observed state of n worlds into `out` (n, 2J + 6): joints against the default pose and their velocities, the
    direction of gravity and the angular velocity in the root's frame."""
    joints = len(default)
    for i in range(len(qpos)):
        row = out[i]
        for j in range(joints):
            row[j] = qpos[i, 7 + j] - default[j]
            row[joints + j] = qvel[i, 6 + j]
        w, x, y, z = qpos[i, 3], qpos[i, 4], qpos[i, 5], qpos[i, 6]
        row[2 * joints] = 2 * (w * y - x * z)
        row[2 * joints + 1] = -2 * (y * z + w * x)
        row[2 * joints + 2] = 2 * (x * x + y * y) - 1
        for axis in range(3):
            row[2 * joints + 3 + axis] = qvel[i, 3 + axis]


@kept(nogil=True)
def _heading(q: Any) -> tuple[float, float]:
    """Cosine and sine of the direction of the x axis, seen from above; 0 where it points straight up or down."""
    ahead, aside = 1.0 - 2.0 * (q[2] * q[2] + q[3] * q[3]), 2.0 * (q[1] * q[2] + q[0] * q[3])
    length = math.sqrt(ahead * ahead + aside * aside)
    if length < 1e-9:
        return 1.0, 0.0
    return ahead / length, aside / length


@kept(nogil=True)
def _turned_back(out: Any, at: int, vector: Any, c: float, s: float) -> int:
    """Write a vector (x, y, z), turned about the vertical against the heading; where to write the next."""
    x, y, z = vector
    out[at], out[at + 1], out[at + 2] = c * x + s * y, c * y - s * x, z
    return at + 3


@kept(nogil=True)
def privileged(bodies: Any, observed: Any, root: int, out: Any) -> None:
    """The privileged observation of n worlds into `out` (n, 1 + 3 (N - 1) + 12 N); `bodies` as `forward` gives them."""
    pos, quat, lin, ang = bodies
    for i in range(len(pos)):
        row, origin = out[i], pos[i, root]
        c, s = _heading(quat[i, root])
        row[0] = origin[2]
        at = 1
        for b in observed:
            if b != root:
                p = pos[i, b]
                at = _turned_back(row, at, (p[0] - origin[0], p[1] - origin[1], p[2] - origin[2]), c, s)
        for b in observed:
            at = _turned_back(row, at, _rotated(quat[i, b], 1.0, 0.0, 0.0), c, s)
            at = _turned_back(row, at, _rotated(quat[i, b], 0.0, 0.0, 1.0), c, s)
        for velocity in (lin, ang):
            for b in observed:
                v = velocity[i, b]
                at = _turned_back(row, at, (v[0], v[1], v[2]), c, s)


@kept(nogil=True)
def distances(pos: Any, tracked: Any, targets: Any, at: Any, out: Any) -> None:
    """How far the tracked bodies of n worlds are from rows `at` (n,) of `targets` (rows, Bt, 3), into `out`: their
    positions (n, Bt, 3), and for each world (n, 3) the mean distance, the largest one, and the mean of the squares."""
    found, summary = out
    for i in range(len(pos)):
        total, largest, squares = 0.0, 0.0, 0.0
        for k, b in enumerate(tracked):
            square = 0.0
            for axis in range(3):
                found[i, k, axis] = pos[i, b, axis]
                difference = pos[i, b, axis] - targets[at[i], k, axis]
                square += difference * difference
            distance = math.sqrt(square)
            total, largest, squares = total + distance, max(largest, distance), squares + square
        summary[i, 0], summary[i, 1], summary[i, 2] = total / len(tracked), largest, squares / len(tracked)
