"""Model servers made with vla-eval's classes, and a program that serves one: `python vla_eval_models.py NAME PORT`.

Runs in a Python of its own, which has vla-eval, or a stand-in for it, and nothing of Proctor.
"""

# pyright: reportMissingImports=false

from __future__ import annotations

import asyncio
import hashlib
import os
import sys
from typing import Any

import numpy as np
from vla_eval.model_servers.base import ModelServer
from vla_eval.model_servers.predict import PredictModelServer
from vla_eval.model_servers.serve import serve

WEIGHTS = np.random.default_rng(5).normal(size=(6, 2)).astype(np.float32)


def linear(obs: dict[str, Any]) -> np.ndarray:
    """As the agent `Linear` of toys.py acts, whose forwards have 16 rows: fewer would be rounded otherwise."""
    return np.tanh(np.tile(obs["state"], (16, 1)) @ WEIGHTS)[0]


class Linear(PredictModelServer):
    def predict(self, obs: Any, ctx: Any) -> Any:
        return {"actions": linear(obs)}


class Whole(PredictModelServer):
    """A chunk that is sent as it is, of which all but the first action are of no use."""

    def predict(self, obs: Any, ctx: Any) -> Any:
        return {"actions": np.stack([linear(obs), np.full(2, np.nan)])}


class Kept(PredictModelServer):
    """Chunks that the server keeps and hands out one by one: its actions tell how many it has made in this episode."""

    def __init__(self) -> None:
        super().__init__(chunk_size=3)
        self.made: dict[str, int] = {}

    async def on_episode_start(self, config: Any, ctx: Any) -> None:
        self.made[ctx.session_id] = 0
        await super().on_episode_start(config, ctx)

    def predict(self, obs: Any, ctx: Any) -> Any:
        made = self.made[ctx.session_id] = self.made[ctx.session_id] + 1
        return {"actions": np.stack([[made / 100, place / 10] for place in range(3)]) * np.sign(obs["state"][0])}


class Noisy(PredictModelServer):
    """Noise that comes from the name of the episode, as the package's own server of RTC has it."""

    def predict(self, obs: Any, ctx: Any) -> Any:
        seed = hashlib.sha256(f"{ctx.episode_id} {ctx.step}".encode()).digest()[0]
        return {"actions": np.random.default_rng(seed).uniform(-1, 1, 2)}


class Refusing(PredictModelServer):
    """Will not begin the episodes of odd numbers."""

    async def on_episode_start(self, config: Any, ctx: Any) -> None:
        if config["task"]["episode_idx"] % 2:
            raise ValueError(f"no model for episode {config['task']['episode_idx']}")
        await super().on_episode_start(config, ctx)

    def predict(self, obs: Any, ctx: Any) -> Any:
        return {"actions": linear(obs)}


class Raising(PredictModelServer):
    def predict(self, obs: Any, ctx: Any) -> Any:
        raise KeyError("wrist")


class Twice(ModelServer):
    """Answers every observation twice; the second answer is of no use."""

    async def on_observation(self, obs: Any, ctx: Any) -> None:
        await ctx.send_action({"actions": linear(obs)})
        await ctx.send_action({"actions": np.full(2, np.nan)})


class Silent(ModelServer):
    async def on_observation(self, obs: Any, ctx: Any) -> None:
        return None


class Together(ModelServer):
    """Answers when four episodes wait for it."""

    def __init__(self) -> None:
        self.waiting: list[tuple[Any, Any]] = []

    async def on_observation(self, obs: Any, ctx: Any) -> None:
        done = asyncio.Event()
        self.waiting.append((ctx, done))
        if len(self.waiting) == 4:
            for _, event in self.waiting:
                event.set()
            self.waiting = []
        await done.wait()
        await ctx.send_action({"actions": linear(obs)})


class Dying(PredictModelServer):
    """Takes its process with it at the eleventh observation; not when it is started again."""

    asked = 0

    def predict(self, obs: Any, ctx: Any) -> Any:
        self.asked += 1
        if self.asked == 11 and not os.environ.get("AGAIN"):
            os._exit(3)
        return {"actions": linear(obs)}


class Pursuing(PredictModelServer):
    """For `Reach` of reach_benchmark.py: goes for the target in chunks of two, if it was told and shown what to do."""

    def __init__(self) -> None:
        super().__init__(chunk_size=2)

    def predict(self, obs: Any, ctx: Any) -> Any:
        assert obs["task_description"].startswith("reach the "), obs["task_description"]
        assert obs["images"]["front"].shape == (32, 32, 3)
        assert obs["images"]["front"].dtype == np.uint8
        place, target = np.split(obs["states"], 2)
        way = np.clip((target - place) / 0.1, -0.7, 0.7)
        return {"actions": np.stack([way, way])}


class Telling(PredictModelServer):
    """Fails, with what it was told and sent."""

    async def on_episode_start(self, config: Any, ctx: Any) -> None:
        self.told = config
        await super().on_episode_start(config, ctx)

    def predict(self, obs: Any, ctx: Any) -> Any:
        raise ValueError(f"{self.told['task']} {ctx.episode_id} {ctx.step} {described(obs)}")

    def get_observation_params(self) -> dict[str, Any]:
        return {"send_state": True}


class Counting(PredictModelServer):
    """Says, in its actions, how many connections it has, and how many episodes have ended."""

    def __init__(self) -> None:
        super().__init__()
        self.sessions: set[str] = set()
        self.ended = 0

    async def on_episode_start(self, config: Any, ctx: Any) -> None:
        self.sessions.add(ctx.session_id)
        await super().on_episode_start(config, ctx)

    async def on_episode_end(self, result: Any, ctx: Any) -> None:
        self.ended += 1
        await super().on_episode_end(result, ctx)

    def predict(self, obs: Any, ctx: Any) -> Any:
        return {"actions": np.array([len(self.sessions), self.ended]) / 1000}


def described(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: described(value[key]) for key in sorted(value)}
    return f"{value.dtype}{value.shape}" if isinstance(value, np.ndarray) else value


if __name__ == "__main__":
    serve(globals()[sys.argv[1]](), "127.0.0.1", int(sys.argv[2]))
