"""Environments that cost what a benchmark wants them to cost. Importing the module registers them with
Gymnasium, without the checking wrappers, so that what is measured is the harness."""

from __future__ import annotations

import time
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict

EPISODE_STEPS = 200

StepTuple = tuple[Any, float, bool, bool, dict[str, Any]]


class Trivial(gymnasium.Env[Any, Any]):
    """Counts its steps: observation `(8,)` filled with the count, reward 1, over after `episode_steps`."""

    def __init__(self, episode_steps: int = EPISODE_STEPS):
        self.observation_space = Box(0.0, np.inf, (8,), np.float32)
        self.action_space = Box(-1.0, 1.0, (4,), np.float32)
        self.episode_steps, self.count = episode_steps, 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        self.count = 0
        return self.observe(), {}

    def step(self, action: Any) -> StepTuple:
        self.count += 1
        return self.observe(), 1.0, False, self.count >= self.episode_steps, {}

    def observe(self) -> Any:
        return np.full(8, self.count, np.float32)


class Cameras(Trivial):
    """Trivial, observed by two 256 x 256 RGB cameras."""

    def __init__(self, episode_steps: int = EPISODE_STEPS):
        super().__init__(episode_steps)
        picture = Box(0, 255, (256, 256, 3), np.uint8)
        self.observation_space = Dict({"front": picture, "wrist": picture})
        self.frame = camera_frame()

    def observe(self) -> Any:
        return {"front": self.frame, "wrist": self.frame}


class Busy(Trivial):
    """Trivial, with steps that take `step_s` seconds of CPU time, however fast the machine is at that moment; while
    another process has the core they do not go on."""

    def __init__(self, step_s: float, episode_steps: int = EPISODE_STEPS):
        super().__init__(episode_steps)
        self.step_s = step_s

    def step(self, action: Any) -> StepTuple:
        until = time.thread_time() + self.step_s
        found = super().step(action)
        while time.thread_time() < until:
            pass
        return found


def camera_frame() -> np.ndarray:
    """A smooth picture, 256 x 256 RGB: kind to compression."""
    y, x = np.mgrid[0:256, 0:256]
    return np.stack([x, y, (x + y) // 2], axis=-1).astype(np.uint8)


def _register(name: str, env: type[gymnasium.Env[Any, Any]]) -> None:
    if name not in gymnasium.registry:
        gymnasium.register(name, env, order_enforce=False, disable_env_checker=True)


_register("Trivial-v0", Trivial)
_register("Cameras-v0", Cameras)
_register("Busy-v0", Busy)
