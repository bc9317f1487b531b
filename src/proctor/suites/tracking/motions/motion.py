"""What a motion is: as read from a file, and at the control rate with everything that follows from it.

Arrays are float64, the world's z points up, quaternions are wxyz. `qpos` is root position 3, root quaternion 4, joints
J; `qvel` is root linear velocity (world) 3, root angular velocity (body frame, as MuJoCo has it) 3, joints J. B are
all bodies of the model but the world, in the order of `Robot.body_names`; body velocities are of the body's origin,
in the world frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from proctor.suites.tracking.bodies import BodyTree
from proctor.suites.tracking.robot import Robot


@dataclass(frozen=True, eq=False)
class Motion:
    """A motion as read, at its own rate; T frames, unit quaternions. Velocities are there where the file has them."""

    name: str
    fps: float
    root_pos: np.ndarray
    """(T, 3) m."""
    root_quat: np.ndarray
    """(T, 4) wxyz."""
    joint_pos: np.ndarray
    """(T, J) rad."""
    root_lin_vel: np.ndarray | None = None
    """(T, 3) m/s, world."""
    root_ang_vel: np.ndarray | None = None
    """(T, 3) rad/s, world."""
    joint_vel: np.ndarray | None = None
    """(T, J) rad/s."""

    def __len__(self) -> int:
        return len(self.root_pos)

    @property
    def length_s(self) -> float:
        """From the first frame to the last."""
        return (len(self) - 1) / self.fps


@dataclass(frozen=True, eq=False, kw_only=True)
class Frames:
    """States of the robot and where its bodies then are; n rows, or any leading shape in the place of n."""

    qpos: np.ndarray
    """(n, 7+J)."""
    qvel: np.ndarray
    """(n, 6+J)."""
    body_pos: np.ndarray
    """(n, B, 3) m."""
    body_quat: np.ndarray
    """(n, B, 4) wxyz."""
    body_lin_vel: np.ndarray
    """(n, B, 3) m/s, world."""
    body_ang_vel: np.ndarray
    """(n, B, 3) rad/s, world."""

    @classmethod
    def of(cls, robot: Robot, qpos: np.ndarray, qvel: np.ndarray) -> Frames:
        """Of states (n, 7+J) and (n, 6+J), by forward kinematics; NaN where the root's quaternion has no length."""
        states = np.concatenate([np.zeros((len(qpos), 1)), qpos, qvel], axis=1)
        states[~states[:, 4:8].any(axis=1), 4:8] = np.nan
        pos, quat, lin_vel, ang_vel = BodyTree(robot).bodies(states)
        return Frames(qpos=qpos, qvel=qvel, body_pos=pos, body_quat=quat, body_lin_vel=lin_vel, body_ang_vel=ang_vel)

    def __len__(self) -> int:
        return len(self.qpos)

    @property
    def root_pos(self) -> np.ndarray:
        """(n, 3)."""
        return self.qpos[..., :3]

    @property
    def root_quat(self) -> np.ndarray:
        """(n, 4) wxyz."""
        return self.qpos[..., 3:7]

    @property
    def joint_pos(self) -> np.ndarray:
        """(n, J)."""
        return self.qpos[..., 7:]

    @property
    def joint_vel(self) -> np.ndarray:
        """(n, J)."""
        return self.qvel[..., 6:]

    def rows(self, which: slice | np.ndarray) -> Frames:
        """Some of the rows: a slice gives views, an integer array copies."""
        return Frames(**{name: getattr(self, name)[which] for name in ARRAYS})


ARRAYS = tuple(field.name for field in fields(Frames))
"""The names of the arrays of `Frames`."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Reference(Frames):
    """A motion at the control rate: T = ceil(length / dt) frames, at the times 0, dt, 2 dt, ..."""

    name: str
    dt_s: float

    def clip(self, name: str, start: int, stop: int) -> Reference:
        """The frames `start` to `stop`, as views."""
        arrays = {key: getattr(self, key)[start:stop] for key in ARRAYS}
        return Reference(name=name, dt_s=self.dt_s, **arrays)


def concatenate(parts: Sequence[Frames]) -> Frames:
    """The rows of all, in order."""
    return Frames(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in ARRAYS})
