"""Parts that break a rule on purpose, and parts of a user's own. Workers import this file by its path."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box

from proctor import Batch, Policy
from proctor.metrics import Metric
from proctor_host.episode import Episode
from proctor_host.result import TrialResult


class Walk(gymnasium.Env[Any, Any]):
    """A seeded walk of 8 steps; reward and success are where it is. With `file`, that file must exist."""

    def __init__(self, file: str | None = None):
        self.observation_space = Box(-np.inf, np.inf, (3,), np.float32)
        self.action_space = Box(-1.0, 1.0, (1,), np.float32)
        self.file = file

    def start(self) -> None:
        self.x = self.np_random.normal(size=3)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        if self.file is not None and not Path(self.file).is_file():
            raise RuntimeError("the world's file is missing")
        self.age = 0
        self.start()
        return self.x.astype(np.float32), {}

    def step(self, action: Any) -> Any:
        self.age += 1
        self.x = self.x + self.np_random.normal(size=3) + float(action[0])
        info = {"success": bool(self.x[0] > 0), "speed": float(self.x[1])}
        return self.x.astype(np.float32), float(self.x.sum()), self.age >= 8, False, info


class Carrying(Walk):
    """Starts where the last episode ended."""

    def start(self) -> None:
        self.x = getattr(self, "x", np.zeros(3)) + self.np_random.normal(size=3)


class Dice(Walk):
    """Does not care for the seed."""

    def start(self) -> None:
        self.x = np.frombuffer(os.urandom(6), np.uint16) / 65536.0


for environment in (Walk, Carrying, Dice):
    if f"{environment.__name__}-v0" not in gymnasium.registry:  # a copy of this file keeps the first
        gymnasium.register(f"{environment.__name__}-v0", environment)


class Steady(Policy):
    """Half a push to the right, or what its checkpoint says."""

    def __init__(self, checkpoint: str | None = None):
        self.push = 0.5 if checkpoint is None else float(Path(checkpoint).read_text())

    def act(self, batch: Batch) -> np.ndarray:
        return np.full((len(batch), 1), self.push)


class Crowd(Policy):
    """Each row looks at the others."""

    def act(self, batch: Batch) -> np.ndarray:
        return np.tanh(batch.observation[:, :1] - batch.observation[:, :1].mean())


class Wide(Policy):
    """Too many numbers."""

    def act(self, batch: Batch) -> np.ndarray:
        return np.zeros((len(batch), 4))


class Unborn(Policy):
    """Cannot be made."""

    def __init__(self) -> None:
        raise RuntimeError("no weights here")

    def act(self, batch: Batch) -> np.ndarray:
        raise NotImplementedError


class Peak(Metric):
    """Largest reward."""

    name, unit, direction, needs = "peak", "reward", "up", ("rewards",)

    def __call__(self, episode: Episode) -> float | None:
        return float(episode.arrays["rewards"].max())


def by_peak(result: TrialResult, factor: float = 1.0) -> float | None:
    """A scoring of one's own."""
    peak = result.metrics.get("peak")
    return None if peak is None else factor * peak
