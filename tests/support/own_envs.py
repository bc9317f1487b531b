"""An environment and the functions that make it, as a user's module has them."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np


class Slope(gymnasium.Env):
    """A ball on a slope: push it to the middle. Ends after twelve steps by its own flag."""

    metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012 - as Gymnasium has it
    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (2,), np.float64)
    action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        self.x, self.v, self.count = float(self.np_random.uniform(-1, 1)), 0.0, 0
        return np.array([self.x, self.v]), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict]:
        self.v += 0.2 * float(action[0])
        self.x += 0.2 * self.v
        self.count += 1
        return np.array([self.x, self.v]), -abs(self.x), self.count == 12, False, {"is_success": abs(self.x) < 0.2}


class UnevenSlope(Slope):
    """The seed decides how long a trial is, so that trials begin at different times."""

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict]:
        observation, reward, _, truncated, info = super().step(action)
        if self.count == 1:
            self.length = int(self.np_random.integers(4, 30))
        return observation, reward, self.count >= self.length, truncated, info


def make_slope() -> gymnasium.Env:
    return Slope()


def pull(observation: np.ndarray) -> np.ndarray:
    return np.clip(-observation[:1] - observation[1:], -1, 1)


def pull_rows(observations: np.ndarray) -> np.ndarray:
    return np.clip(-observations[:, :1] - observations[:, 1:], -1, 1)
