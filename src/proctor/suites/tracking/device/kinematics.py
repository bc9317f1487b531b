"""Where all bodies are in the states of many worlds, as `tracking.bodies` has it on the processor: a Warp kernel in
which each body walks down from the root for itself. That is more arithmetic than a walk over the tree, level by level,
but one launch instead of one for each level."""

# pyright: reportMissingImports=false, reportInvalidTypeForm=false

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp


@wp.func
def _rotated(q: wp.vec4, v: wp.vec3) -> wp.vec3:
    """The vector, rotated by q (wxyz)."""
    axis = wp.vec3(q[1], q[2], q[3])
    twice = 2.0 * wp.cross(axis, v)
    return v + q[0] * twice + wp.cross(axis, twice)


@wp.func
def _multiply(a: wp.vec4, b: wp.vec4) -> wp.vec4:
    """b first, then a; normalised."""
    return wp.normalize(
        wp.vec4(
            a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
            a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
            a[0] * b[2] + a[2] * b[0] + a[3] * b[1] - a[1] * b[3],
            a[0] * b[3] + a[3] * b[0] + a[1] * b[2] - a[2] * b[1],
        )
    )


@wp.kernel
def _place(
    qpos: wp.array2d(dtype=float),
    qvel: wp.array2d(dtype=float),
    chains: wp.array2d(dtype=int),
    places: wp.array(dtype=wp.vec3),
    turns: wp.array(dtype=wp.vec4),
    hinges: wp.array2d(dtype=int),
    anchors: wp.array(dtype=wp.vec3),
    axes: wp.array(dtype=wp.vec3),
    zeros: wp.array(dtype=float),
    root: int,
    pos: wp.array2d(dtype=wp.vec3),
    quat: wp.array2d(dtype=wp.vec4),
    lin_vel: wp.array2d(dtype=wp.vec3),
    ang_vel: wp.array2d(dtype=wp.vec3),
):
    """One body of one world. Threads side by side have the same body, and so the same way to go."""
    b, world = wp.tid()
    place, moving, turning = wp.vec3(), wp.vec3(), wp.vec3()
    turn = wp.vec4(1.0, 0.0, 0.0, 0.0)
    for k in range(chains.shape[1]):
        body = chains[b, k]
        if body == root:
            place = wp.vec3(qpos[world, 0], qpos[world, 1], qpos[world, 2])
            turn = wp.normalize(wp.vec4(qpos[world, 3], qpos[world, 4], qpos[world, 5], qpos[world, 6]))
            moving = wp.vec3(qvel[world, 0], qvel[world, 1], qvel[world, 2])
            turning = _rotated(turn, wp.vec3(qvel[world, 3], qvel[world, 4], qvel[world, 5]))
        elif body >= 0:
            arm = _rotated(turn, places[body])
            place += arm
            moving += wp.cross(turning, arm)
            turn = _multiply(turn, turns[body])
            for j in range(hinges[body, 0], hinges[body, 1]):
                before = _rotated(turn, anchors[j])
                axis = _rotated(turn, axes[j])
                half = 0.5 * (qpos[world, 7 + j] - zeros[j])
                moving += wp.cross(turning, before)
                s = wp.sin(half)
                turn = _multiply(turn, wp.vec4(wp.cos(half), s * axes[j][0], s * axes[j][1], s * axes[j][2]))
                after = _rotated(turn, anchors[j])
                place += before - after
                turning += axis * qvel[world, 6 + j]
                moving -= wp.cross(turning, after)
    pos[world, b] = place
    quat[world, b] = turn
    lin_vel[world, b] = moving
    ang_vel[world, b] = turning


class Kinematics:
    """Of n worlds with the robot of `model`, whose root is its first body with a free joint, and all of whose other
    joints are hinges. `seen` are the poses and velocities of all bodies but the world: positions, rotations (wxyz),
    and the velocities of their origins, linear and angular. Made and launched on Warp's current device."""

    def __init__(self, model: Any, n: int):
        parents = model.body_parentid[1:] - 1
        hinges = np.stack([model.body_jntadr[1:], model.body_jntadr[1:] + model.body_jntnum[1:]], axis=1) - 1
        root = int(model.jnt_bodyid[0]) - 1
        self._tree = [
            wp.array(_chains(parents), dtype=int),
            wp.array(model.body_pos[1:], dtype=wp.vec3),
            wp.array(model.body_quat[1:], dtype=wp.vec4),
            wp.array(hinges, dtype=int),
            wp.array(model.jnt_pos[1:], dtype=wp.vec3),
            wp.array(model.jnt_axis[1:], dtype=wp.vec3),
            wp.array(model.qpos0[7:], dtype=float),
            root,
        ]
        self.seen = [wp.zeros((n, len(parents)), dtype=kind) for kind in (wp.vec3, wp.vec4, wp.vec3, wp.vec3)]

    def look(self, qpos: Any, qvel: Any) -> None:
        """Write `seen` of these states."""
        wp.launch(_place, dim=self.seen[0].shape[::-1], inputs=[qpos, qvel, *self._tree], outputs=self.seen)


def _chains(parents: np.ndarray) -> np.ndarray:
    """Of each body those from the root to itself, filled up with -1."""
    found: list[list[int]] = []
    for body, parent in enumerate(parents):
        found.append([*(found[parent] if parent >= 0 else []), body])
    chains = np.full((len(found), max(map(len, found))), -1, np.int32)
    for row, chain in zip(chains, found, strict=True):
        row[: len(chain)] = chain
    return chains
