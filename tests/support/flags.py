"""An environment that says at each step what it is told to say of success."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box

HERE = Path(__file__)


class Flags(gymnasium.Env[Any, Any]):
    """`flags` has what `info["success"]` is after each step; None: nothing is there. After the last one the episode
    ends by itself. Seeds in `silent` say nothing of success at any step."""

    def __init__(self, flags: Sequence[bool | None], silent: Sequence[int] = (), reward: float = 1.0):
        self.observation_space = Box(-np.inf, np.inf, (2,), np.float32)
        self.action_space = Box(-1.0, 1.0, (1,), np.float32)
        self.flags, self.silent, self.reward = list(flags), frozenset(silent), reward

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        self.at, self.quiet, self.start = 0, seed in self.silent, float(self.np_random.normal())
        return self._seen(), {}

    def step(self, action: Any) -> Any:
        flag = None if self.quiet else self.flags[self.at]
        self.at += 1
        info = {} if flag is None else {"success": bool(flag)}
        return self._seen(), self.reward * self.start, self.at == len(self.flags), False, info

    def _seen(self) -> Any:
        return np.array([self.start, self.at], np.float32)


if "Flags-v0" not in gymnasium.registry:
    gymnasium.register("Flags-v0", Flags)


def flags_task(flags: Sequence[bool | None], name: str = "flags", **rest: Any) -> dict[str, Any]:
    """A task with this environment; `silent`, `reward` and `success` go to it, other keys are the task's."""
    kwargs = {"flags": list(flags)} | {key: rest.pop(key) for key in ("silent", "reward") if key in rest}
    options = {"id": f"{HERE}:Flags-v0", "kwargs": kwargs}
    options |= {key: rest.pop(key) for key in ("success", "vector") if key in rest}
    return {"suite": "gymnasium", "name": name, "options": options, **rest}
