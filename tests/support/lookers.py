"""Policies for tests that look at pictures: what they do depends on every pixel that they saw."""

from __future__ import annotations

from typing import Any

import numpy as np

from proctor.policies.protocol import Batch, Policy, SpaceInfo
from proctor.texts import bytes_to_text


class Looker(Policy):
    """Chunks of `horizon` actions made of the pictures, the instruction, and noise of the trial's own generator."""

    def __init__(self, spaces: SpaceInfo, horizon: int = 3, noise: float = 0.05):
        self._horizon, self._noise = horizon, noise
        self._shapes = {task: space.shape for task, space in spaces.action.items()}

    def act(self, batch: Batch) -> np.ndarray:
        size = self._shapes[batch.trials[0].task]
        noise = self._noise * batch.normal((self._horizon, *size))
        phases = np.stack([_phase(batch.observation, row) * np.arange(1, size[0] + 1) for row in range(len(batch))])
        return np.clip(0.8 * np.sin(phases)[:, None] + noise, -1, 1).astype(np.float32)


class Ahead(Policy):
    """The same action always: `by` along the first axis, and `gripper`."""

    def __init__(self, by: float, gripper: float):
        self._action = np.array([by, 0, 0, 0, 0, 0, gripper])

    def act(self, batch: Batch) -> np.ndarray:
        return np.repeat(self._action[None], len(batch), axis=0)


def _phase(observation: dict[str, Any], row: int) -> float:
    seen = sum(float(value[row].sum()) for key, value in sorted(observation.items()) if key.startswith("image/"))
    told = len(bytes_to_text(observation["instruction"][row]))
    return seen / 977.0 + told + float(np.abs(observation["state"][row]).sum())
