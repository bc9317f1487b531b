"""Forward kinematics of many states at once: a walk over the bodies, each step for all states together.

The results equal MuJoCo's: poses after `mj_kinematics`, velocities as `mj_objectVelocity` gives them for the body's
frame, in the world's axes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from proctor.suites.tracking.motions.motion import Frames
from proctor.suites.tracking.robot import Robot
from proctor.suites.tracking.rotations import about, cross, multiply, normalized, rotate


@dataclass
class _Pose:
    """One body in all states: (n, 3), (n, 4), (n, 3), (n, 3)."""

    pos: np.ndarray
    quat: np.ndarray
    lin: np.ndarray
    ang: np.ndarray


def forward(robot: Robot, qpos: np.ndarray, qvel: np.ndarray) -> Frames:
    """Where all bodies are and how they move in states (n, 7+J) and (n, 6+J)."""
    model = robot.model
    quat = normalized(qpos[:, 3:7])
    root = _Pose(qpos[:, :3], quat, qvel[:, :3], rotate(quat, qvel[:, 3:6]))
    still = _Pose(np.zeros((len(qpos), 3)), np.tile([1.0, 0, 0, 0], (len(qpos), 1)), *np.zeros((2, len(qpos), 3)))
    poses = [still]
    for body in range(1, model.nbody):
        if body == robot.root + 1:
            poses.append(root)
        else:
            pose = _carried(poses[model.body_parentid[body]], model.body_pos[body], model.body_quat[body])
            for joint in range(model.body_jntadr[body], model.body_jntadr[body] + model.body_jntnum[body]):
                pose = _turned(pose, model, joint, qpos[:, 6 + joint], qvel[:, 5 + joint])
            poses.append(pose)
    return Frames(
        qpos=qpos,
        qvel=qvel,
        body_pos=np.stack([pose.pos for pose in poses[1:]], axis=1),
        body_quat=np.stack([pose.quat for pose in poses[1:]], axis=1),
        body_lin_vel=np.stack([pose.lin for pose in poses[1:]], axis=1),
        body_ang_vel=np.stack([pose.ang for pose in poses[1:]], axis=1),
    )


def _carried(parent: _Pose, pos: np.ndarray, quat: np.ndarray) -> _Pose:
    """A body fixed to its parent."""
    arm = rotate(parent.quat, pos)
    turned = normalized(multiply(parent.quat, quat))
    return _Pose(parent.pos + arm, turned, parent.lin + cross(parent.ang, arm), parent.ang)


def _turned(pose: _Pose, model: Any, joint: int, angle: np.ndarray, speed: np.ndarray) -> _Pose:
    """The body after turning about a hinge."""
    axis, anchor, zero = model.jnt_axis[joint], model.jnt_pos[joint], model.qpos0[model.jnt_qposadr[joint]]
    before = rotate(pose.quat, anchor)
    ang = pose.ang + rotate(pose.quat, axis) * speed[:, None]
    quat = normalized(multiply(pose.quat, about(axis, angle - zero)))
    after = rotate(quat, anchor)
    lin = pose.lin + cross(pose.ang, before) - cross(ang, after)
    return _Pose(pose.pos + before - after, quat, lin, ang)
