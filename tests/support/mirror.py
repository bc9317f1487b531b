"""An environment that shows the seed that it was reset with."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np


class Mirror(gymnasium.Env[Any, Any]):
    """Shows the seed that it was reset with, in two halves."""

    observation_space = gymnasium.spaces.Box(0, 2.0**32, (2,), np.float64)
    action_space = gymnasium.spaces.Box(-1, 1, (1,), np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        assert seed is not None
        self.halves = np.array(divmod(seed, 2**32), np.float64)
        return self.halves, {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        return self.halves, 1.0, True, False, {"success": self.halves[1] % 2 == 0}


gymnasium.register("Mirror-v0", Mirror)
