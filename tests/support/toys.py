"""Environments and policies of the engine's tests. Workers import this file by its path."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict

from proctor import Actions, Batch, Execute, Fail, Goto, Policy, Stage, StagedPolicy, StageOutput

HERE = Path(__file__)


class Toy(gymnasium.Env[Any, Any]):
    """Noisy nonlinear dynamics in 6 dimensions; the seed decides start, noise and length."""

    def __init__(
        self, scale: float = 1.0, nap_s: float = 0.0, trouble: str = "", seeds: tuple[int, ...] = (), marks: str = ""
    ):
        self.observation_space = Box(-np.inf, np.inf, (6,), np.float32)
        self.action_space = Box(-1.0, 1.0, (2,), np.float32)
        self.scale, self.nap_s, self.trouble, self.seeds, self.marks = scale, nap_s, trouble, tuple(seeds), marks
        self.bad = False

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        self.bad = seed in self.seeds
        self.x = self.np_random.normal(size=6)
        self.left, self.age = int(self.np_random.integers(5, 40)), 0
        if self.bad and self.trouble == "reset":
            raise RuntimeError("the simulator does not start")
        return self.x.astype(np.float32), {}

    def step(self, action: Any) -> Any:
        time.sleep(self.nap_s)
        self.age += 1
        if self.bad and self.age == 3:
            self._trouble()
        push = np.resize(np.asarray(action, np.float64), 6)
        self.x = np.tanh(self.x * 1.1 + self.scale * push + 0.1 * self.np_random.normal(size=6))
        self.left -= 1
        reward = float(self.x.sum())
        if self.bad and self.trouble == "nan_reward":
            reward = float("nan")
        observation = self.x.astype(np.float32)
        if self.bad and self.trouble == "nan_observation":
            observation[:] = np.nan
        return observation, reward, self.left <= 0, False, {"success": bool(self.x[0] > 0), "x": self.x.copy()}

    def close(self) -> None:
        if self.trouble == "close":
            time.sleep(1000)

    def _trouble(self) -> None:
        if self.marks and not self._first_time():
            return
        if self.trouble == "raise":
            raise RuntimeError("the simulator diverged")
        if self.trouble == "hang":
            time.sleep(1000)
        if self.trouble == "die":
            os.kill(os.getpid(), signal.SIGSEGV)
        if self.trouble == "exit":
            raise SystemExit(3)

    def _first_time(self) -> bool:
        """Only once per run folder: the second attempt goes well."""
        mark = Path(self.marks) / "broken"
        if mark.exists():
            return False
        mark.touch()
        return True


class Pictures(Toy):
    """Toy, observed as a dict with a small picture."""

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)
        self.observation_space = Dict(
            {"state": Box(-np.inf, np.inf, (6,), np.float32), "picture": Box(0, 255, (8, 8, 3), np.uint8)}
        )

    def _see(self, x: Any) -> Any:
        return {"state": x, "picture": np.full((8, 8, 3), int(abs(float(x[0])) * 255) % 256, np.uint8)}

    def reset(self, **kwargs: Any) -> Any:
        x, info = super().reset(**kwargs)
        return self._see(x), info

    def step(self, action: Any) -> Any:
        x, *rest = super().step(action)
        return self._see(x), *rest


gymnasium.register("Toy-v0", Toy, max_episode_steps=30)
gymnasium.register("Pictures-v0", Pictures, max_episode_steps=30)


def _state(observation: Any) -> np.ndarray:
    return observation["state"] if isinstance(observation, dict) else observation


WEIGHTS = np.random.default_rng(5).normal(size=(6, 2)).astype(np.float32)


class Linear(Policy):
    """Deterministic."""

    def act(self, batch: Batch) -> np.ndarray:
        return np.tanh(_state(batch.observation) @ WEIGHTS)


class Upward(Policy):
    """Pushes towards success."""

    def act(self, batch: Batch) -> np.ndarray:
        return np.full((len(batch), 2), 0.2, np.float32)


class Noisy(Policy):
    """Stochastic, in chunks of three."""

    def act(self, batch: Batch) -> np.ndarray:
        base = np.tanh(_state(batch.observation) @ WEIGHTS)[:, None]
        return np.clip(base + 0.3 * batch.normal((3, 2)), -1, 1)


class Recurrent(Policy):
    """A leaky memory per trial."""

    def reset(self, trials: Any) -> Any:
        return {"h": np.zeros((len(trials), 2), np.float32), "n": np.zeros(len(trials), np.int64)}

    def act(self, batch: Batch) -> Actions:
        h = 0.9 * batch.state["h"] + 0.1 * (_state(batch.observation) @ WEIGHTS)
        n = batch.state["n"] + 1
        return Actions(np.tanh(h) * np.where(n % 3 == 0, -1, 1)[:, None], {"h": h, "n": n})


class TwoStages(StagedPolicy):
    """A planner, then an action expert twice, then the planner again."""

    stages = (Stage("plan"), Stage("act", max_batch=3))

    def reset(self, trials: Any) -> Any:
        return {"goal": np.zeros((len(trials), 2)), "left": np.zeros(len(trials), np.int64)}

    def forward(self, stage: str, batch: Batch) -> StageOutput:
        if stage == "plan":
            goal = np.tanh(batch.normal((2,)) + _state(batch.observation)[:, :2])
            return StageOutput([Goto("act")] * len(batch), {"goal": goal, "left": np.full(len(batch), 2)})
        left = batch.state["left"] - 1
        actions = np.clip(batch.state["goal"][:, None] + 0.1 * batch.normal((2, 2)), -1, 1)
        rows = [Execute(a, "act" if n > 0 else "plan") for a, n in zip(actions, left, strict=True)]
        return StageOutput(rows, {"goal": batch.state["goal"], "left": left})


class Quitter(StagedPolicy):
    stages = (Stage("plan"),)

    def forward(self, stage: str, batch: Batch) -> StageOutput:
        return StageOutput([Fail("no plan was found")] * len(batch))


class Unloadable(Linear):
    def __init__(self) -> None:
        raise ValueError("there are no weights")


class Wanderer(StagedPolicy):
    """Never acts."""

    stages = (Stage("plan"), Stage("think"))

    def forward(self, stage: str, batch: Batch) -> StageOutput:
        return StageOutput([Goto("think" if stage == "plan" else "plan")] * len(batch))


class Troubled(Linear):
    """Noisy, but for the trials with these seeds it does something wrong at their fourth forward."""

    def __init__(self, trouble: str, seeds: tuple[int, ...], nap_s: float = 0.0, mark: str = ""):
        self.trouble, self.seeds, self.nap_s, self.mark = trouble, set(seeds), nap_s, mark

    def reset(self, trials: Any) -> Any:
        if self.trouble == "reset" and trials[0].seed in self.seeds:
            raise RuntimeError("no memory for this trial")
        return np.zeros(len(trials), np.int64)

    def act(self, batch: Batch) -> Actions:
        guilty = np.array([t.seed in self.seeds for t in batch.trials]) & (batch.state == 3)
        actions = np.tanh(super().act(batch) + batch.normal((2,)))
        if guilty.any():
            if self.trouble == "raise":
                raise ValueError("this observation is too much")
            if self.trouble == "hang":
                time.sleep(self.nap_s)
            if self.trouble == "hang once" and not Path(self.mark).exists():
                Path(self.mark).touch()
                time.sleep(self.nap_s)
            if self.trouble == "die":
                os.kill(os.getpid(), signal.SIGSEGV)
            if self.trouble == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            if self.trouble == "quit":
                os._exit(0)
            if self.trouble == "exit":
                raise SystemExit(0)
            if self.trouble == "generator":
                raise GeneratorExit
            if self.trouble == "shape":
                actions = np.zeros((len(batch), 5))
        if self.trouble == "nan":
            actions[guilty] = np.nan
        if self.trouble == "range":
            actions[guilty] = 7.0
        return Actions(actions, batch.state + 1)


class Wobbly(Linear):
    """Noisy, without a state; at a trial's first look at a large state it does something wrong for these seeds."""

    def __init__(self, trouble: str, seeds: tuple[int, ...]):
        self.trouble, self.seeds = trouble, set(seeds)

    def reset(self, trials: Any) -> Any:
        if self.trouble == "reset" and trials[0].seed in self.seeds:
            raise RuntimeError("no memory for this trial")

    def act(self, batch: Batch) -> np.ndarray:
        actions = np.tanh(super().act(batch) + batch.normal((2,)))
        large = np.abs(_state(batch.observation)).max(axis=1) > 0.9
        guilty = np.array([t.seed in self.seeds for t in batch.trials]) & large
        if guilty.any() and self.trouble == "raise":
            raise ValueError("this observation is too much")
        if guilty.any() and self.trouble == "exit" and all(t.seed in self.seeds for t in batch.trials):
            raise SystemExit(3)
        if guilty.any() and self.trouble == "exit":
            raise ValueError("only alone")
        if guilty.any() and self.trouble == "shape":
            return np.zeros((len(batch), 5)) if all(t.seed in self.seeds for t in batch.trials) else _refuse()
        if self.trouble in ("nan", "range"):
            actions[guilty] = np.nan if self.trouble == "nan" else 7.0
        return actions


def _refuse() -> Any:
    raise ValueError("only alone")


def network() -> Any:
    """A torch network of several layers."""
    from torch import nn

    return nn.Sequential(nn.Linear(6, 64), nn.Tanh(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2), nn.Tanh())
