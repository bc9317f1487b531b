"""A table with something on it, as PushT shows it, without its packages."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict

SIZE = 12


class Pushing(gymnasium.Env[Any, Any]):
    observation_space = Dict(
        {"pixels": Box(0, 255, (SIZE, SIZE, 3), np.uint8), "agent_pos": Box(0.0, 512.0, (2,), np.float64)}
    )
    action_space = Box(0.0, 512.0, (2,), np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.place = self.np_random.uniform(0.0, 512.0, 2)
        return self._seen(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.place = self.place + 0.3 * (np.asarray(action, np.float64) - self.place)
        near = bool(np.abs(self.place - 256.0).max() < 20.0)
        return self._seen(), -float(np.abs(self.place - 256.0).max()), False, False, {"is_success": near}

    def _seen(self) -> dict[str, np.ndarray]:
        pixels = np.zeros((SIZE, SIZE, 3), np.uint8)
        row, column = (self.place * SIZE / 512.01).astype(int)
        pixels[row, column] = (200, 60, int(self.place[0]) % 256)
        return {"pixels": pixels, "agent_pos": self.place.copy()}


gymnasium.register("Pushing-v0", Pushing, max_episode_steps=50)
