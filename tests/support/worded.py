"""An environment whose observation has text in it, and a policy that reads it. Workers import this file by its path."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, Text, Tuple

from proctor import Batch, Policy

WORDED = Path(__file__)


class Worded(gymnasium.Env[Any, Any]):
    """A number to be told which way to go, in words."""

    def __init__(self) -> None:
        self.observation_space = Dict(
            {"x": Box(-np.inf, np.inf, (), np.float64), "told": Tuple([Text(16), Discrete(3)])}
        )
        self.action_space = Box(-1.0, 1.0, (1,), np.float64)

    def _see(self) -> Any:
        told = "left" if self.x > 0 else "right"
        return {"x": np.asarray(self.x), "told": (told, np.int64(self.age % 3))}

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        self.x, self.age = float(self.np_random.normal()), 0
        return self._see(), {}

    def step(self, action: Any) -> Any:
        self.age += 1
        self.x += float(action[0]) + 0.1 * float(self.np_random.normal())
        return self._see(), -abs(self.x), self.age >= 6, False, {"success": abs(self.x) < 0.5}


class Reader(Policy):
    """Goes where it is told, by its number and some noise."""

    def act(self, batch: Batch) -> np.ndarray:
        told = [(row["told"][0], int(row["told"][1]), float(row["x"])) for row in batch.observation]
        signs = np.array([(-1.0 if word == "left" else 1.0) * (1 + n) / 4 * min(abs(x), 1) for word, n, x in told])
        return np.clip(signs[:, None] + 0.1 * batch.normal((1,)), -1, 1)


if "Worded-v0" not in gymnasium.registry:
    gymnasium.register("Worded-v0", Worded)
