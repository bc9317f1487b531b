"""Worlds of our own on a device: what is read stays there until the last step.

Imported where a device is asked for: it needs torch.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from proctor.suites.tracking.device.environment import TrackingDeviceEnv
from proctor.suites.tracking.motions import MotionLibrary
from proctor.suites.tracking.options import TrackingOptions
from proctor.suites.tracking.robot import Robot
from proctor.training.lent import Starts, WorldState
from proctor.training.own import OwnWorlds


class DeviceEnvironment(OwnWorlds):
    """As `OwnEnvironment`, with tensors: a world whose agent gives an action that is not finite, or whose simulation
    breaks down, reads as NaN from then on."""

    def __init__(self, robot: Robot, library: MotionLibrary, worlds: int, options: TrackingOptions):
        self.num_worlds = worlds
        self.joint_names, self.body_names = robot.description.joint_names, robot.body_names
        self._robot = robot
        self.env = TrackingDeviceEnv(robot, library, worlds, options)
        self._broken = self.env.worlds.broken.clone()

    def reset(self, starts: Starts) -> dict[str, Any]:
        """Motions begin in their first frames, which are the states that are asked for."""
        seen = self.env.begin_device(starts.worlds, starts.seeds.tolist(), starts.motions.tolist())
        self._broken &= ~self.env.worlds.mask
        return seen

    def step(self, actions: Any) -> tuple[dict[str, Any], None]:
        columns = self.env.step_device(actions)
        self._broken |= columns.reward.isnan()
        return columns.observation, None

    def read(self) -> WorldState:
        physics, joints = self.env.worlds.physics, self._robot.description.n_joints
        state = WorldState(
            joint_pos=physics.qpos[:, 7:],
            body_pos=physics.bodies.pos,
            root_pos=physics.qpos[:, :3],
            root_quat=physics.qpos[:, 3:7],
            anchor_quat=physics.bodies.quat[:, self._robot.anchor],
            observed_joint_pos=None if self.env.observed_state is None else self.env.observed_state[:, :joints],
        )
        return WorldState(*(None if values is None else self._honest(values) for values in state))

    def _honest(self, values: Any) -> Any:
        """NaN in the rows of broken worlds."""
        return values.masked_fill(self._broken.view(-1, *[1] * (values.ndim - 1)), np.nan)

    def close(self) -> None:
        self.env.close()
