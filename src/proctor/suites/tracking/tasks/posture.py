"""What the reward tasks measure of a state: a few quantities that neither place nor heading changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from proctor.errors import InputError
from proctor.suites.tracking import rotations
from proctor.suites.tracking.motions import Frames
from proctor.suites.tracking.robot import Robot

BLOCK = 8192
"""States per call of the forward kinematics, which bounds its memory."""


@dataclass(frozen=True)
class Limbs:
    """The bodies that tasks look at, left and right. The default fits the Unitree G1."""

    shoulders: tuple[str, str] = ("left_shoulder_pitch_link", "right_shoulder_pitch_link")
    hands: tuple[str, str] = ("left_wrist_yaw_link", "right_wrist_yaw_link")
    feet: tuple[str, str] = ("left_ankle_roll_link", "right_ankle_roll_link")


@dataclass(frozen=True, eq=False)
class Posture:
    """N states. Heights in m above the floor at z = 0; "up" is the vertical component of a unit vector."""

    root_height: np.ndarray
    """(N,)."""
    torso_up: np.ndarray
    """(N,): 1 upright, 0 lying, -1 upside down; of the z axis of the anchor body."""
    axes_up: np.ndarray
    """(N, 3): of the root's x, y and z axis."""
    velocity: np.ndarray
    """(N, 2) m/s: of the root, forward and left as seen in its heading."""
    turn_rate: np.ndarray
    """(N,) rad/s: of the root, about the vertical."""
    rates: np.ndarray
    """(N, 3) rad/s: of the root, about its own axes."""
    hands: np.ndarray
    """(N, 2): height of each hand over its shoulder, as a share of the arm's length."""
    feet: np.ndarray
    """(N, 2): height of each foot's body over the lowest it has standing."""


class PostureReader:
    """Measures states of one robot. InputError where the robot lacks a limb's body."""

    def __init__(self, robot: Robot, limbs: Limbs | None = None):
        self.robot, self.limbs = robot, limbs or Limbs()
        self._shoulders = robot.body_indices(self.limbs.shoulders)
        self._hands = robot.body_indices(self.limbs.hands)
        self._feet = robot.body_indices(self.limbs.feet)
        self._arm_lengths = np.array(
            [_chain_length(robot, s, h) for s, h in zip(self._shoulders, self._hands, strict=True)]
        )
        still = np.zeros((1, robot.model.nv))
        self._foot_heights = Frames.of(robot, robot.default_qpos[None], still).body_pos[0, self._feet, 2]

    def __call__(self, qpos: np.ndarray, qvel: np.ndarray) -> Posture:
        """Of `qpos` (N, 7 + J), quaternions wxyz, and `qvel` (N, 6 + J)."""
        model = self.robot.model
        for name, array, last in (("qpos", qpos, model.nq), ("qvel", qvel, model.nv)):
            if array.ndim != 2 or array.shape != (len(qpos), last):
                raise InputError(
                    f"{name} has shape {array.shape}; ({len(qpos)}, {last}) was expected for {len(qpos)} states of "
                    f"{self.robot.description.name}"
                )
        blocks = [slice(start, start + BLOCK) for start in range(0, max(1, len(qpos)), BLOCK)]
        return _concatenate([self._measure(qpos[block], qvel[block]) for block in blocks])

    def _measure(self, qpos: np.ndarray, qvel: np.ndarray) -> Posture:
        state = Frames.of(self.robot, qpos, qvel)
        root = state.body_quat[:, self.robot.root]
        axes_up = -rotations.gravity_in(root)
        cos, sin = rotations.heading(root)
        x, y = qvel[:, 0], qvel[:, 1]
        rise = state.body_pos[:, self._hands, 2] - state.body_pos[:, self._shoulders, 2]
        return Posture(
            root_height=state.body_pos[:, self.robot.root, 2],
            torso_up=-rotations.gravity_in(state.body_quat[:, self.robot.anchor])[:, 2],
            axes_up=axes_up,
            velocity=np.stack([cos * x + sin * y, cos * y - sin * x], axis=1),
            turn_rate=np.sum(axes_up * qvel[:, 3:6], axis=1),
            rates=qvel[:, 3:6],
            hands=rise / self._arm_lengths,
            feet=state.body_pos[:, self._feet, 2] - self._foot_heights,
        )


def _concatenate(parts: Sequence[Posture]) -> Posture:
    names, kind = [field.name for field in fields(parts[0])], type(parts[0])
    return kind(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in names})


def _chain_length(robot: Robot, start: int, end: int) -> float:
    """The sum of link lengths from one body down to another, m. Body indices are those of the robot."""
    model, length, body = robot.model, 0.0, end + 1
    while body not in (0, start + 1):
        length += float(np.linalg.norm(model.body_pos[body]))
        body = int(model.body_parentid[body])
    if body == 0 or length == 0.0:
        names = robot.body_names
        raise InputError(f"{names[end]} does not hang on {names[start]}; name a shoulder and a hand of one arm")
    return length
