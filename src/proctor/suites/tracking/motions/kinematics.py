"""Forward kinematics of many states at once."""

from __future__ import annotations

import numpy as np

from proctor.suites.tracking.bodies import BodyTree
from proctor.suites.tracking.motions.motion import Frames
from proctor.suites.tracking.robot import Robot


def forward(robot: Robot, qpos: np.ndarray, qvel: np.ndarray) -> Frames:
    """Where all bodies are and how they move in states (n, 7 + J) and (n, 6 + J)."""
    states = np.concatenate([np.zeros((len(qpos), 1)), qpos, qvel], axis=1)
    pos, quat, lin_vel, ang_vel = BodyTree(robot).bodies(states)
    return Frames(qpos=qpos, qvel=qvel, body_pos=pos, body_quat=quat, body_lin_vel=lin_vel, body_ang_vel=ang_vel)
