"""The motions of a MotionLibrary as an evaluation needs them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from proctor.suites.tracking.metrics import Track
from proctor.suites.tracking.motions import MotionLibrary
from proctor.suites.tracking.observations import reference_observations
from proctor.suites.tracking.robot import Robot


class LibrarySource:
    """A MotionSource of Proctor's own library and robot."""

    def __init__(self, library: MotionLibrary, robot: Robot, velocity_multiplier: float = 1.0):
        self.library, self.robot = library, robot
        self._velocity_multiplier = velocity_multiplier
        self.names, self.lengths, self.dt_s = library.names, library.lengths, library.dt_s
        self.joint_names = robot.description.joint_names
        self.body_names = robot.description.tracked_bodies

    def track(self, motion: int) -> Track:
        reference = self.library.reference(motion)
        return Track(
            joint_pos=reference.joint_pos,
            body_pos=reference.body_pos[:, self.robot.tracked],
            root_pos=reference.root_pos,
            root_quat=reference.root_quat,
            anchor_quat=reference.body_quat[:, self.robot.anchor],
            observed=reference.joint_pos - self.robot.description.default_pose,
        )

    def start(self, motions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        first = self.library.gather(motions, np.zeros_like(motions))
        return first.qpos, first.qvel

    def observations(self) -> Mapping[str, Any]:
        """`state`, `privileged_state`, and `last_action` (zeros: a reference has none)."""
        parts = [
            reference_observations(self.robot, self.library.reference(i), velocity_multiplier=self._velocity_multiplier)
            for i in range(len(self.library))
        ]
        found = {key: np.concatenate([part[key][1:] for part in parts]) for key in parts[0]}
        rows = int((self.lengths - 1).sum())
        return {**found, "last_action": np.zeros((rows, self.robot.description.n_joints))}

    def state(self) -> Any:
        return self.library.state()

    def restore(self, state: Any) -> None:
        self.library.restore(state)
