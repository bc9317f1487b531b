"""A room with a camera and an arm without weight: the hand moves by a centimetre for each unit of action. The camera
sees a red dot where the goal is and a green one where the hand is."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict

LOW, HIGH = np.array([-0.3, 0.4, 0.0]), np.array([0.3, 0.8, 0.4])


class CameraRoom(gymnasium.Env[Any, Any]):
    def __init__(self, size: int = 64, steps: int = 24):
        self.observation_space = Dict(
            {"image/corner3": Box(0, 255, (size, size, 3), np.uint8), "state": Box(-np.inf, np.inf, (4,), np.float32)}
        )
        self.action_space = Box(-1.0, 1.0, (4,), np.float32)
        self.size, self.steps = size, steps

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.count, self.hand = 0, (LOW + HIGH) / 2
        self.goal = self.np_random.uniform(LOW, HIGH)
        self.length = int(self.np_random.integers(self.steps // 2, self.steps + 1))
        return self.observe(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.count += 1
        self.hand = np.clip(self.hand + 0.01 * np.asarray(action[:3], np.float64), LOW, HIGH)
        away = float(np.linalg.norm(self.hand - self.goal))
        return self.observe(), -away, False, self.count >= self.length, {"success": away < 0.05}

    def observe(self) -> dict[str, np.ndarray]:
        image = np.full((self.size, self.size, 3), 90, np.uint8)
        for channel, at in enumerate((self.goal, self.hand)):
            across, down = ((at - LOW) / (HIGH - LOW) * (self.size - 3)).astype(int)[[0, 2]]
            image[down : down + 3, across : across + 3] = 255 * np.eye(3, dtype=np.uint8)[channel]
        return {"image/corner3": image, "state": np.array([*self.hand, 1.0], np.float32)}


if "CameraRoom-v0" not in gymnasium.registry:
    gymnasium.register("CameraRoom-v0", "camera_rooms:CameraRoom", disable_env_checker=True)
