"""What is seen and recorded of a wire after a control step, compiled: one row of numbers (see `proctor_host.sheet`).

Positions are taken in vessel coordinates and written in tracking coordinates (see `carm`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from proctor.kernels import checksum
from proctor.suites.endovascular.kernel import compiled, director
from proctor.suites.endovascular.paths import Map, nearest, onward, remaining
from proctor.suites.endovascular.rod import ANGLE, BEHIND, DEPTH_MAX, EDGE, FORCE, LENGTH, TORQUE
from proctor_host.sheet import HEAD, REWARD, SUCCESS, TERMINATED, Sheet

REWARD_TARGET, REWARD_PATH_PER_MM, REWARD_STEP = 1.0, 0.001, -0.005
LOOK_AHEAD_MM, LOOK_BEYOND_MM = 14.0, 26.0
SHAFT_MM = 16.0
"""How far behind the tip the privileged direction of the shaft is taken."""

PIECE_MM = 2.0
"""Wall forces are told of pieces of the wire of this length, so that they do not depend on how it is divided."""

TRIP = range(10)
STEPS, AT, INITIAL, REMAINING, TIP, _, _, TRAVELLED, PUSHED, TIME = TRIP
"""Entries of a trial's account: steps made, the centreline point that the tip belongs to, path length to the target at
the start and now (mm), the tip in tracking coordinates (three entries), how far it has travelled and the handle has
pushed and pulled (mm), seconds."""


class Scene(NamedTuple):
    """What does not change in a trial."""

    way: Map
    rotation: np.ndarray
    """Of the C-arm."""
    target: np.ndarray
    threshold: float
    """Of success, mm."""
    spots: np.ndarray
    """How far behind the tip the wire is observed, mm,"""
    shares: np.ndarray
    """and recorded: shares of the inserted length."""
    dt: float
    privileged: bool
    shown: np.ndarray
    """The point that is observed as the target: itself, or one on the way."""


def sheet(spots: int, shares: int, privileged: bool, devices: int = 1) -> Sheet:
    """The rows that `look` writes; of several devices with their insertions and angles at the end, which it does not
    write."""
    single, double = np.float32, np.float64
    observation: dict[Any, Any] = {
        ("tracking",): ((spots, 2), single),
        ("target",): ((2,), single),
        ("inserted_length",): ((1,), single),
        ("rotation",): ((2,), single),
        ("last_action",): ((2,), single),
    }
    if privileged:
        for name in ("tip", "heading", "shaft", "shaft_pos", "ahead", "beyond"):
            observation["privileged", name] = ((3,), single)
        observation["privileged", "remaining"] = observation["privileged", "handle_force"] = ((1,), single)
    number, vector = ((), double), ((3,), double)
    signals: dict[str, Any] = {
        "tip_pos3d": vector,
        "tip_vel3d": vector,
        "inserted_length": number,
        "rotation": number,
        "path_ratio": number,
        "trajectory_length": number,
        "avg_translation_speed": number,
        "wall_lcp_sum_abs": number,
        "wall_lcp_max_abs": number,
        "wall_wire_force_norm": number,
        "wall_collision_force_norm": number,
        "wall_contact_count": ((), np.int64),
        "wall_force_pos3d": vector,
        "wall_depth_max_mm": number,
        "handle_force_n": number,
        "handle_torque_n_mm": number,
        "wire_pos3d": ((shares, 3), single),
    }
    if devices > 1:
        signals |= {"inserted_lengths": ((devices,), double), "rotations": ((devices,), double)}
    return Sheet(observation, signals)


@compiled()
def contact(rod, state, free):
    """The wall's forces on the wire, means over a control step, on pieces of `PIECE_MM`: sum, largest, the node that
    has most of that one, norm of all components, norm of the resultant, how many pieces touch."""
    total, largest, node, squares, count = 0.0, 0.0, 0, 0.0, 0
    fx, fy, fz, px, py, pz = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    pressed, most, piece = 0.0, 0, 0
    for j in range(free + 1):
        here = int(rod.node[j, BEHIND] / PIECE_MM + 0.5) if j < free else -1
        if here != piece:
            squares += px * px + py * py + pz * pz
            count += pressed != 0.0
            if pressed > largest:
                largest, node = pressed, most
            fx, fy, fz, total = fx + px, fy + py, fz + pz, total + pressed
            px, py, pz, pressed, most, piece = 0.0, 0.0, 0.0, 0.0, j, here
        if j < free:
            normal = state.mean[j, 3]
            px, py, pz = px + state.mean[j, 0], py + state.mean[j, 1], pz + state.mean[j, 2]
            pressed += normal
            if normal > state.mean[most, 3]:
                most = j
    return total, largest, node, np.sqrt(squares), np.sqrt(fx * fx + fy * fy + fz * fz), count


@compiled()
def along(rod, x, free, inserted, behind):
    """The point so far behind the tip; beyond the entry, the entry."""
    reach = min(behind, inserted)
    at = min(np.searchsorted(rod.node[:, BEHIND], reach, side="right"), free) - 1
    share = (reach - rod.node[at, BEHIND]) / rod.node[at, EDGE]
    return (
        (1 - share) * x[at, 0] + share * x[at + 1, 0],
        (1 - share) * x[at, 1] + share * x[at + 1, 1],
        (1 - share) * x[at, 2] + share * x[at + 1, 2],
    )


@compiled()
def turned(rotation, point):
    """Vessel coordinates, or a direction, in tracking coordinates."""
    x, y, z = point
    return (
        rotation[0, 0] * x + rotation[0, 1] * y + rotation[0, 2] * z,
        rotation[1, 0] * x + rotation[1, 1] * y + rotation[1, 2] * z,
        rotation[2, 0] * x + rotation[2, 1] * y + rotation[2, 2] * z,
    )


@compiled()
def put(row, k, point):
    """Write three numbers; where the next one goes."""
    row[k], row[k + 1], row[k + 2] = point
    return k + 3


@compiled()
def observe(rod, state, status, free, scene, trip, speed, spin, row):
    """Write the observation; where the next number goes."""
    x, turn, inserted, k = state.x, scene.rotation, status[LENGTH], HEAD
    for i in range(len(scene.spots)):
        seen = turned(turn, along(rod, x, free, inserted, scene.spots[i]))
        row[k], row[k + 1], k = seen[0], seen[2], k + 2
    seen = turned(turn, (scene.shown[0], scene.shown[1], scene.shown[2]))
    row[k], row[k + 1], row[k + 2] = seen[0], seen[2], inserted
    row[k + 3], row[k + 4] = np.sin(status[ANGLE]), np.cos(status[ANGLE])
    row[k + 5], row[k + 6], k = speed, spin, k + 7
    if scene.privileged:
        hx, hy, hz = director(state.q, 0)
        sx, sy, sz = director(state.q, min(np.searchsorted(rod.node[:, BEHIND], SHAFT_MM - 1e-9), free))
        at, points = int(trip[AT]), scene.way.points
        k = put(row, k, turned(turn, (x[0, 0], x[0, 1], x[0, 2])))
        k = put(row, k, turned(turn, (-hx, -hy, -hz)))
        k = put(row, k, turned(turn, (-sx, -sy, -sz)))
        k = put(row, k, turned(turn, along(rod, x, free, inserted, SHAFT_MM)))
        ahead, beyond = onward(scene.way, at, LOOK_AHEAD_MM), onward(scene.way, at, LOOK_BEYOND_MM)
        k = put(row, k, turned(turn, (points[ahead, 0], points[ahead, 1], points[ahead, 2])))
        k = put(row, k, turned(turn, (points[beyond, 0], points[beyond, 1], points[beyond, 2])))
        row[k], row[k + 1], k = trip[REMAINING], status[FORCE], k + 2
    return k


@compiled()
def record(rod, state, status, free, scene, trip, velocity, row, k):
    """Write the signals."""
    x, turn, inserted = state.x, scene.rotation, status[LENGTH]
    k = put(row, k, (trip[TIP], trip[TIP + 1], trip[TIP + 2]))
    k = put(row, k, velocity)
    row[k], row[k + 1] = inserted, status[ANGLE]
    row[k + 2], row[k + 3] = 1.0 - trip[REMAINING] / trip[INITIAL], trip[TRAVELLED]
    row[k + 4], k = trip[PUSHED] / trip[TIME] if trip[TIME] > 0 else 0.0, k + 5
    total, largest, node, stacked, resultant, count = contact(rod, state, free)
    row[k], row[k + 1], row[k + 2], row[k + 3], row[k + 4], k = total, largest, stacked, resultant, count, k + 5
    k = put(row, k, turned(turn, (x[node, 0], x[node, 1], x[node, 2])))
    row[k], row[k + 1], row[k + 2], k = status[DEPTH_MAX], status[FORCE], status[TORQUE], k + 3
    for i in range(len(scene.shares)):
        k = put(row, k, turned(turn, along(rod, x, free, inserted, inserted * scene.shares[i])))


def _entry(sources: int) -> Any:
    """`look`, with the checksum of all files that are compiled into it: numba's cache knows it by that."""

    @compiled()
    def look(rod, state, status, free, scene, trip, speed, spin, pushed, row):
        """Write the row of a control step that was commanded `speed` and `spin` and moved the handle by `pushed` mm;
        keep the trial's account. Before the first step (`STEPS` is 0 and `pushed` negative): of a trial that begins."""
        x, target, first = state.x, scene.target, pushed < 0.0
        at = nearest(scene.way, x[0, 0], x[0, 1], x[0, 2]) if sources else 0
        left = remaining(scene.way, at, x[0, 0], x[0, 1], x[0, 2])
        tip = turned(scene.rotation, (x[0, 0], x[0, 1], x[0, 2]))
        dx, dy, dz = tip[0] - trip[TIP], tip[1] - trip[TIP + 1], tip[2] - trip[TIP + 2]
        velocity = (0.0, 0.0, 0.0)
        if first:
            trip[:] = 0.0
            trip[INITIAL] = trip[REMAINING] = left
        else:
            if trip[STEPS] > 0:
                velocity = (dx / scene.dt, dy / scene.dt, dz / scene.dt)
            trip[STEPS] += 1
            trip[TRAVELLED] += np.sqrt(dx * dx + dy * dy + dz * dz)
            trip[PUSHED] += pushed
            trip[TIME] += scene.dt
        gained = trip[REMAINING] - left
        trip[AT], trip[REMAINING] = at, left
        put(trip, TIP, tip)
        away = (x[0, 0] - target[0]) ** 2 + (x[0, 1] - target[1]) ** 2 + (x[0, 2] - target[2]) ** 2
        success = 1.0 if np.sqrt(away) <= scene.threshold else 0.0
        row[REWARD] = REWARD_STEP + REWARD_PATH_PER_MM * gained + REWARD_TARGET * success
        row[TERMINATED] = row[SUCCESS] = success
        k = observe(rod, state, status, free, scene, trip, speed, spin, row)
        record(rod, state, status, free, scene, trip, velocity, row, k)

    return look


look = _entry(checksum(Path(__file__).parent))
