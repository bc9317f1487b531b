"""Small environments with known numbers, loaded by file in the tests."""

from __future__ import annotations

from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium import spaces


class Counter(gymnasium.Env):
    """Counts its steps. The observation is [seed draw, step, state]; the episode ends by itself after
    `length` steps, or with a length drawn from the seed. Reward is the action."""

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["rgb_array"], "render_fps": 10}
    observation_space = spaces.Box(-1e6, 1e6, (3,), np.float64)
    action_space = spaces.Box(-1.0, 1.0, (1,), np.float32)
    dt = 0.25
    made = 0

    def __init__(self, length: int | None = 5, render_mode: str | None = None, sparse: bool = False):
        Counter.made += 1
        self.length, self.render_mode, self.sparse = length, render_mode, sparse
        self.buffer = np.zeros(3)
        self.resets = 0
        self.options: Any = "never reset"

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        super().reset(seed=seed)
        self.resets += 1
        self.options = options
        self.step_count = 0
        draw = int(self.np_random.integers(1000))
        self.ends_at = self.length if self.length is not None else 2 + draw % 7
        self.buffer[:] = draw, 0, (options or {}).get("state_index", -1)
        return self.buffer.copy(), {"nested": {"vector": np.zeros(2)}}

    def step(self, action):
        self.step_count += 1
        self.buffer[1] = self.step_count
        ended = self.step_count >= self.ends_at
        info: dict[str, Any] = {"nested": {"vector": np.full(2, self.step_count)}, "count": self.step_count}
        if not self.sparse or self.step_count % 2 == 0:
            info["is_success"] = ended
        return self.buffer.copy(), float(action[0]), ended, False, info

    def render(self):
        return np.full((4, 6, 3), self.step_count, np.uint8)


class NoFrames(Counter):
    metadata: ClassVar[dict[str, Any]] = {"render_modes": []}


class Doubled(gymnasium.RewardWrapper):
    def __init__(self, env, factor: float = 2.0):
        super().__init__(env)
        self.factor = factor

    def reward(self, reward):
        return self.factor * float(reward)


def third_step(env, observation, reward, terminated, truncated, info):
    assert isinstance(env, gymnasium.Env)
    return observation[1] == 3


NOT_A_FUNCTION = 3

for name, cls, limit in [("Toy/Counter-v0", Counter, 50), ("Toy/NoFrames-v0", NoFrames, None)]:
    if name not in gymnasium.registry:
        gymnasium.register(name, cls, max_episode_steps=limit)
