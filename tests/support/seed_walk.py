"""An environment of which the seed changes nothing, the start, or what steps give."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete


class Walk(gymnasium.Env[np.ndarray, Any]):
    """Counts to five. `kind`: what the seed changes: nothing, the start, or what a step gives."""

    def __init__(self, kind: str = "nothing", breaks: bool = False):
        self.kind, self.breaks = kind, breaks
        self.observation_space, self.action_space = Box(-1e6, 1e6, (1,), np.float64), Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        if self.breaks and (seed or 0) > 10_000:
            raise RuntimeError("no such seed")
        self.steps, self.at = 0, float(seed or 0) if self.kind == "start" else 0.0
        return np.array([self.at]), {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self.steps += 1
        self.at += 1.0 if self.kind != "dynamics" else float(self.np_random.random() < 0.5)
        done = self.steps == 5
        return np.array([self.at]), 0.0, done, False, {"success": done and bool(self.at > 2)}


for name in ("nothing", "start", "dynamics"):
    gymnasium.register(f"SeedWalk-{name}-v0", lambda kind=name, **rest: Walk(kind, **rest))
