"""An environment that would be missed if it were not closed. Workers import this file by its path."""

from __future__ import annotations

import os
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box


class Hoarder(gymnasium.Env[Any, Any]):
    """Three steps long; holds 4 MB and an open file until it is closed. `number` makes tasks differ."""

    def __init__(self, number: int = 0):
        self.observation_space = Box(-1.0, 1.0, (1,), np.float32)
        self.action_space = Box(-1.0, 1.0, (1,), np.float32)
        self.hoard: Any = np.full(500_000, float(number))
        self.file = os.open(os.devnull, os.O_RDONLY)
        self.count = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        self.count = 0
        return np.zeros(1, np.float32), {}

    def step(self, action: Any) -> Any:
        self.count += 1
        return np.zeros(1, np.float32), 0.0, self.count >= 3, False, {}

    def close(self) -> None:
        os.close(self.file)
        self.hoard = None


gymnasium.register("Hoarder-v0", Hoarder)
