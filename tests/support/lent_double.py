"""A lent environment in other conventions than Proctor's: torch tensors, float64, xyzw, joints and bodies in an order
of its own, all worlds reset together, buffers that the next step overwrites. Inside it is the real simulation."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from proctor.suites.tracking.options import TrackingOptions
from proctor.suites.tracking.suite import load_task
from proctor.training.lent import Starts, WorldState
from proctor.training.own import OwnEnvironment


class LentDouble:
    quaternion = "xyzw"

    def __init__(self, options: TrackingOptions, worlds: int, partial_reset: bool = False):
        robot, library = load_task(options)
        self._own = OwnEnvironment(robot, library, worlds, options)
        self.num_worlds, self.partial_reset = worlds, partial_reset
        self._joints = np.random.default_rng(0).permutation(len(robot.description.joint_names))
        self._bodies = np.random.default_rng(1).permutation(len(robot.body_names))
        self.joint_names = [robot.description.joint_names[i] for i in self._joints]
        self.body_names = [robot.body_names[i] for i in self._bodies]
        self.training, self.resets = True, 0
        self._buffers: dict[str, torch.Tensor] = {}

    def reset(self, starts: Starts) -> Any:
        assert self.partial_reset or sorted(starts.worlds.tolist()) == list(range(self.num_worlds))
        self.resets += 1
        back = np.argsort(self._joints)
        qpos = np.concatenate([starts.qpos[:, :3], starts.qpos[:, [6, 3, 4, 5]], starts.qpos[:, 7:][:, back]], axis=1)
        qvel = np.concatenate([starts.qvel[:, :6], starts.qvel[:, 6:][:, back]], axis=1)
        return self._tensors(self._own.reset(Starts(starts.worlds, starts.motions, qpos, qvel, starts.seeds)))

    def step(self, actions: Any) -> tuple[Any, Any]:
        observation, _ = self._own.step(actions.numpy())
        return self._tensors(observation), torch.zeros(self.num_worlds, dtype=torch.bool)

    def read(self) -> WorldState:
        state = self._own.read()
        fresh = {
            "joint_pos": state.joint_pos[:, self._joints],
            "body_pos": state.body_pos[:, self._bodies],
            "root_pos": state.root_pos,
            "root_quat": state.root_quat[:, [1, 2, 3, 0]],
            "anchor_quat": state.anchor_quat[:, [1, 2, 3, 0]],
            "observed_joint_pos": state.observed_joint_pos[:, self._joints],
        }
        for name, values in fresh.items():
            if name not in self._buffers:
                self._buffers[name] = torch.zeros(values.shape, dtype=torch.float64)
            self._buffers[name].copy_(torch.from_numpy(np.ascontiguousarray(values)))
        return WorldState(**self._buffers)

    def state(self) -> bool:
        kept, self.training = self.training, False
        return kept

    def restore(self, state: bool) -> None:
        self.training = state

    def _tensors(self, observation: dict[str, np.ndarray]) -> dict[str, torch.Tensor]:
        return {key: torch.from_numpy(np.array(value)) for key, value in observation.items()}
