"""An environment that pays by terms at the end, and the official way to add them up. Workers import this file by its
path."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box

HERE = Path(__file__)


class Kick(gymnasium.Env[Any, Any]):
    """A ball on a line that is pushed by the action. `still`: the seed changes nothing. Terms are of mixed types, as
    environments give them."""

    def __init__(self, still: bool = False):
        self.observation_space = Box(-np.inf, np.inf, (1,), np.float64)
        self.action_space = Box(-1.0, 1.0, (1,), np.float64)
        self.still = still

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        self.x = 0.0 if self.still else float(self.np_random.normal())
        self.age = 0
        return np.array([self.x]), {}

    def compute_reward(self) -> dict[str, Any]:
        return {
            "distance": np.float32(1 / (1 + abs(3 - self.x))),
            "goal_scored": self.x > 3,
            "robot_fallen": np.bool_(self.age % 3 == 0),
            "far": np.float64(self.x / 7),
        }

    def step(self, action: Any) -> Any:
        self.age += 1
        self.x += float(action[0])
        terms = self.compute_reward()
        ended = self.x > 3 or self.x < -3
        return np.array([self.x]), 0.0, bool(ended), False, {"terms": terms, "success": bool(self.x > 3)}


if "Kick-v0" not in gymnasium.registry:
    gymnasium.register("Kick-v0", Kick, max_episode_steps=8)

SIGNALS = {f"term/{name}": f"info.terms.{name}" for name in ("distance", "goal_scored", "robot_fallen", "far")}


def kick_task(name: str = "kick", **kwargs: Any) -> dict[str, Any]:
    options = {"id": f"{HERE}:Kick-v0", "kwargs": kwargs, "signals": SIGNALS}
    return {"suite": "gymnasium", "name": name, "options": options}


def official(weights: Mapping[str, float]) -> Callable[[Any, dict[str, Any]], tuple[float, dict[str, Any]]]:
    """The form of an official function with this table: it pays on the last step only."""

    def evaluation_fn(env: Any, eval_state: dict[str, Any]) -> tuple[float, dict[str, Any]]:
        eval_state["timestep"] = eval_state.get("timestep", 0) + 1
        raw = env.compute_reward()
        raw.update({"steps": np.float64(1.0)})
        if not (eval_state.get("terminated") or eval_state.get("truncated")):
            return 0.0, eval_state
        reward = 0.0
        for name, value in raw.items():
            if name in weights:
                reward += (float(value) if not isinstance(value, bool) else (1.0 if value else 0.0)) * weights[name]
        return reward, eval_state

    return evaluation_fn
