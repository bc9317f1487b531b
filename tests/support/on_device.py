"""A toy whose worlds lie on a device: the processor's here. Workers import this file by its path.

Its arithmetic is made of sums, products and bounds of single numbers, so a world's bytes do not depend on its place."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from gymnasium.spaces import Box, Dict
from torch import nn

from proctor import Actions, Batch, Policy
from proctor.suites.protocol import Columns, DeviceEnv, Suite, SuiteOptions
from proctor_host.arrays import placed

HERE = Path(__file__)
LONGEST = 24


class DeviceOptions(SuiteOptions):
    keys: bool = False
    """Observe a dict."""
    seeds: tuple[int, ...] = ()
    trouble: str = ""
    """What the trials of these seeds do in their third step."""
    low: float = -1.0
    high: float = 1.0
    device: str = "cpu"
    reuses: bool = True
    """Give the same memory at every step."""
    exact: bool = True
    wide: int = 0
    """A signal of so many numbers more."""


class DeviceToys(DeviceEnv):
    max_steps = 20

    def __init__(self, options: DeviceOptions, worlds: int):
        self.options, self.num_worlds, self.device = options, worlds, options.device
        self.exact = options.exact
        state = Box(-np.inf, np.inf, (4,), np.float32)
        self.observation_space = Dict({"state": state, "age": Box(0, 100, (), np.int32)}) if options.keys else state
        self.action_space = Box(options.low, options.high, (2,), np.float32)
        self.x = torch.zeros(worlds, 4)
        self.noise = torch.zeros(worlds, LONGEST + 80, 4)
        self.age = torch.zeros(worlds, dtype=torch.int64)
        self.length = torch.full((worlds,), LONGEST)
        self.bad = torch.zeros(worlds, dtype=torch.bool)
        self.every = torch.arange(worlds)
        self.begun: list[list[int]] = []
        self.steps = 0

    def begin_device(self, worlds: np.ndarray, seeds: Sequence[int], indices: Sequence[int]) -> Any:
        assert worlds.dtype == np.int64
        assert list(worlds) == sorted(worlds)
        self.begun.append(worlds.tolist())
        for world, seed in zip(worlds.tolist(), seeds, strict=True):
            rng = np.random.default_rng(seed)
            self.x[world] = torch.from_numpy(rng.random(4).astype(np.float32))
            self.noise[world] = torch.from_numpy(rng.random(self.noise.shape[1:]).astype(np.float32)) - 0.5
            self.length[world], self.age[world] = int(rng.integers(5, LONGEST)), 0
            self.bad[world] = seed in self.options.seeds
            if self.bad[world] and self.options.trouble == "reset":
                raise RuntimeError("the simulator does not start")
            if self.bad[world] and self.options.trouble == "nan_first":
                self.x[world] = torch.nan
        return self._seen()

    def _seen(self) -> Any:
        shown = self.x if self.options.reuses else self.x.clone()
        return {"state": shown, "age": self.age.to(torch.int32)} if self.options.keys else shown

    def step_device(self, actions: Any) -> Columns:
        assert type(actions) is torch.Tensor
        assert actions.dtype == torch.float32
        assert bool(torch.isfinite(actions).all()), "no world is stepped with what is no number"
        self.steps += 1
        noise = self.noise[self.every, self.age.clamp(max=self.noise.shape[1] - 1)]
        push = torch.cat([actions, actions], 1)
        self.x.copy_((self.x * 1.5 + push * 0.25 + noise).clamp(-1, 1))
        self.age += 1
        reward = self.x[:, 0] + self.x[:, 1]
        strange = self.bad & (self.age == 3)
        trouble = self.options.trouble
        if trouble and strange.any():
            if trouble == "raise":
                raise RuntimeError("the simulator diverged")
            if trouble == "nan_reward":
                reward = torch.where(strange, torch.nan, reward)
            if trouble in ("nan", "infinite"):
                self.x[strange] = torch.nan if trouble == "nan" else torch.inf
            if trouble == "flags":
                return self._columns(reward, (self.age >= self.length).float())
        return self._columns(reward, self.age >= self.length)

    def _columns(self, reward: torch.Tensor, terminated: torch.Tensor) -> Columns:
        signals = {
            "energy": (self.x[:, :1] * self.x[:, 1:2])[:, 0],
            "force": self.x[:, :3].to(torch.float64) * 3,
            "count": self.age.clone(),
            "near": self.x[:, 2] > 0,
            "grid": (self.x.reshape(-1, 2, 2) * 100).to(torch.int16),
        }
        if self.options.wide:
            signals["wide"] = self.x[:, :1].expand(-1, self.options.wide)
        truncated = (self.age >= 15) & (self.x[:, 3] > 0)
        return Columns(self._seen(), reward, terminated, truncated, self.x[:, 0] > 0, signals)

    def constants(self, world: int) -> dict[str, Any]:
        return {"length": int(self.length[world])}


class DeviceSuite(Suite):
    name: ClassVar[str] = "on_device"
    Options: ClassVar[type[SuiteOptions]] = DeviceOptions

    def task_name(self, options: DeviceOptions) -> str:
        return "toy"

    def is_batch(self, options: DeviceOptions) -> bool:
        return True

    def make(self, options: DeviceOptions, *, render: bool, worlds: int) -> DeviceToys:
        return DeviceToys(options, worlds)


def network() -> nn.Module:
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2), nn.Tanh())


def _state(observation: Any) -> Any:
    return observation["state"] if isinstance(observation, dict) else observation


class Slope(Policy):
    """Answers with arithmetic that is exact wherever a row stands."""

    device = "cpu"

    def __init__(self, scale: float = 0.5, device: str | None = "cpu"):
        self.scale, self.device, self.tensors = scale, device, 0

    def act(self, batch: Batch) -> Any:
        state = _state(batch.observation)
        self.tensors += isinstance(state, torch.Tensor)
        return state[:, :2] * self.scale


class Drawing(Slope):
    """Draws noise."""

    def act(self, batch: Batch) -> Any:
        state = _state(batch.observation)
        noise = (0.2 * batch.normal((2,))).astype(np.float32)
        return state[:, :2] * 0.5 + (placed(noise, "cpu") if isinstance(state, torch.Tensor) else noise)


class Chunky(Slope):
    """Answers with two actions at once."""

    def act(self, batch: Batch) -> Any:
        once = super().act(batch)
        return torch.stack([once, -once], 1) if isinstance(once, torch.Tensor) else np.stack([once, -once], 1)


class Leaky(Slope):
    """Remembers."""

    def reset(self, trials: Any) -> Any:
        return np.zeros((len(trials), 2), np.float32)

    def act(self, batch: Batch) -> Any:
        state = np.float32(0.5) * batch.state + np.asarray(_state(batch.observation))[:, :2]
        return Actions(np.clip(state, -1, 1), state)


class Wrong(Slope):
    """For these seeds, something is wrong with its answer to a large state."""

    def __init__(self, trouble: str, seeds: Sequence[int]):
        super().__init__()
        self.trouble, self.seeds = trouble, set(seeds)

    def reset(self, trials: Any) -> Any:
        if self.trouble == "reset" and trials[0].seed in self.seeds:
            raise RuntimeError("no memory for this trial")

    def act(self, batch: Batch) -> Any:
        actions = super().act(batch)
        large = abs(_state(batch.observation)).max(1)
        large = getattr(large, "values", large)
        guilty = np.array([t.seed in self.seeds for t in batch.trials]) & (np.asarray(large) >= 1)
        if not guilty.any():
            return actions
        actions = actions + 0
        match self.trouble:
            case "raise":
                raise ValueError("this observation is too much")
            case "nan" | "infinite" | "range":
                value = {"nan": np.nan, "infinite": np.inf, "range": 3.0}[self.trouble]
                actions[guilty if isinstance(actions, np.ndarray) else torch.from_numpy(guilty)] = value
            case "shape" if all(t.seed in self.seeds for t in batch.trials):
                return np.zeros((len(batch), 5), np.float32)
            case "shape":
                raise ValueError("only alone")
        return actions
