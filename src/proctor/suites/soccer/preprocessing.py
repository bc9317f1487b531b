"""The observation that the competition's preprocessor builds, (86 + n,) float32 with a task code of n entries.

| from | entries | |
|---|---|---|
| 0 | 12, 12 | joint positions (rad) and velocities (rad/s) |
| 24 | 3 | gravity in the robot's frame, of length 1 |
| 27 | 3, 3, 3 | gyroscope, accelerometer, velocimeter |
| 36 | 3, 3, 3, 3 | goals of both teams seen from the robot, then from the ball |
| 48 | 3, 3, 3 | ball: position, velocity, spin, less the robot's |
| 57 | 2 | team, one-hot |
| 59 | 3, 3, 3, 3 | goalkeepers of both teams: position and velocity, less the robot's |
| 71 | 3, 3 | target: position and velocity, less the robot's |
| 77 | 9 | positions of three defenders |
| 86 | n | task, one-hot |

What a task does not have is at the robot's own place, as the environment's `info` says.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

JOINTS = 12
LENGTH = 86
_SENSORS = ("robot_gyro", "robot_accelerometer", "robot_velocimeter")
_FIELD = (
    "goal_team_0_rel_robot", "goal_team_1_rel_robot", "goal_team_0_rel_ball", "goal_team_1_rel_ball",
    "ball_xpos_rel_robot", "ball_velp_rel_robot", "ball_velr_rel_robot", "player_team",
    "goalkeeper_team_0_xpos_rel_robot", "goalkeeper_team_0_velp_rel_robot",
    "goalkeeper_team_1_xpos_rel_robot", "goalkeeper_team_1_velp_rel_robot",
    "target_xpos_rel_robot", "target_velp_rel_robot", "defender_xpos",
)  # fmt: skip


def official_observation(observation: np.ndarray, info: Mapping[str, Any], code: np.ndarray) -> np.ndarray:
    """From the environment's observation (24 entries or more), its `info` and the task code."""
    gravity = gravity_in_robot_frame(info["robot_quat"])
    entries = [info[name] for name in (*_SENSORS, *_FIELD)]
    return np.concatenate([observation[: 2 * JOINTS], gravity, *entries, code]).astype(np.float32)


def gravity_in_robot_frame(quat: np.ndarray) -> np.ndarray:
    """(0, 0, -1) of the world, turned by the inverse of a rotation (4,) float32 with the real part last. The square of
    that part is rounded to float32, as the official one is."""
    x, y, z, w = (float(entry) for entry in quat)
    squared = np.float32(quat[3]) * np.float32(quat[3])
    return np.array([2.0 * (w * y - x * z), -2.0 * (w * x + y * z), -float(2 * squared - 1) - 2.0 * z * z])


def task_code(index: int | None, count: int) -> np.ndarray:
    """One-hot (count,) float32."""
    code = np.zeros(count, np.float32)
    if count and index is not None:
        code[index] = 1.0
    return code
