"""From a motion at its own rate to a reference at the control rate.

A motion of `length` seconds, from its first frame to its last, becomes T = ceil(length / dt) frames at 0, dt, 2 dt,
...: the end itself is not among them, so clips that follow each other share no frame. Positions and angles are
interpolated linearly, rotations on the shortest arc. At the motion's own rate nothing changes.
"""

from __future__ import annotations

import math

import numpy as np

from proctor.errors import InputError
from proctor.suites.tracking.motions.motion import Frames, Motion, Reference
from proctor.suites.tracking.robot import Robot
from proctor.suites.tracking.rotations import conjugate, continuous, into, log, multiply, slerp

_SAME = 1e-6
"""Of a frame: times closer than this to a frame are that frame's."""


def n_frames(length_s: float, dt_s: float) -> int:
    """T = ceil(length / dt)."""
    return math.ceil(length_s / dt_s - _SAME)


def make_reference(motion: Motion, robot: Robot, dt_s: float) -> Reference:
    """The motion at the control rate, with all bodies and velocities. Raises InputError for one that is shorter than
    two control steps."""
    n = n_frames(motion.length_s, dt_s)
    if n < 2:
        raise InputError(
            f"motion {motion.name}: {len(motion)} frames at {motion.fps:g} a second last {motion.length_s:g} s; more "
            f"than {dt_s:g} s are needed for two frames at the control rate"
        )
    lower, part = _places(n, dt_s * motion.fps, len(motion))
    pos = _linear(motion.root_pos, lower, part)
    upper = np.minimum(lower + 1, len(motion) - 1)
    quat = continuous(slerp(motion.root_quat[lower], motion.root_quat[upper], part))
    joints = _linear(motion.joint_pos, lower, part)
    lin = differences(pos, dt_s) if motion.root_lin_vel is None else _linear(motion.root_lin_vel, lower, part)
    ang = angular_velocity(quat, dt_s) if motion.root_ang_vel is None else _linear(motion.root_ang_vel, lower, part)
    speed = differences(joints, dt_s) if motion.joint_vel is None else _linear(motion.joint_vel, lower, part)
    frames = Frames.of(
        robot,
        np.concatenate([pos, quat, joints], axis=1),
        np.concatenate([lin, into(quat, ang), speed], 1),
    )
    return Reference(name=motion.name, dt_s=dt_s, **vars(frames))


def _places(n: int, frames_per_step: float, count: int) -> tuple[np.ndarray, np.ndarray]:
    """For each control step the motion's frame before it and the part of the way to the next, in [0, 1)."""
    place = np.arange(n) * frames_per_step
    nearest = np.rint(place)
    place = np.where(np.abs(place - nearest) < _SAME, nearest, place)
    lower = np.minimum(np.floor(place).astype(np.int64), count - 1)
    return lower, place - lower


def _linear(values: np.ndarray, lower: np.ndarray, part: np.ndarray) -> np.ndarray:
    first, second = values[lower], values[np.minimum(lower + 1, len(values) - 1)]
    return first + part[:, None] * (second - first)


def differences(values: np.ndarray, dt_s: float) -> np.ndarray:
    """Time derivative of (T, D), T >= 2: central differences, one-sided at the ends."""
    return np.gradient(values, dt_s, axis=0)


def angular_velocity(quat: np.ndarray, dt_s: float) -> np.ndarray:
    """In the world frame, (T, 3) rad/s, of rotations (T, 4), T >= 2: the rotation from the frame before to the frame
    after, one-sided at the ends."""
    frames = np.arange(len(quat))
    before, after = np.maximum(frames - 1, 0), np.minimum(frames + 1, len(quat) - 1)
    turn = log(multiply(quat[after], conjugate(quat[before])))
    return turn / ((after - before) * dt_s)[:, None]
