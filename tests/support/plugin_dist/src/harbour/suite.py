"""A suite: a boat drifts towards a quay."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from gymnasium.spaces import Box
from pydantic import Field

from proctor import Env, Step, Suite, SuiteOptions


class HarbourOptions(SuiteOptions):
    """`width_m`: how far from the quay a boat may start."""

    width_m: float = Field(default=2.0, gt=0)


class HarbourEnv(Env):
    """Success is to come to rest at the quay."""

    observation_space = Box(-10.0, 10.0, (2,), np.float64)
    action_space = Box(-1.0, 1.0, (1,), np.float64)
    action_dt_s = 0.1
    max_steps = 25

    def __init__(self, width_m: float):
        self._width_m = width_m

    def reset(self, seed: int, index: int) -> np.ndarray:
        rng = np.random.default_rng([seed, index])
        self._state = np.array([rng.uniform(0.5, 1.0) * self._width_m, 0.0])
        return self._state.copy()

    def step(self, action: Any) -> Step:
        distance, speed = self._state
        speed = 0.9 * speed + 0.1 * float(action[0])
        self._state = np.array([distance + 0.1 * speed, speed])
        docked = bool(abs(self._state[0]) < 0.3 * self._width_m)
        signals = {"clearance_m": np.float32(abs(self._state[0]))}
        return Step(self._state.copy(), -abs(float(self._state[0])), docked, False, docked, signals)


class HarbourSuite(Suite):
    """A boat comes to a quay."""

    name: ClassVar[str] = "harbour"
    Options: ClassVar[type[SuiteOptions]] = HarbourOptions

    def task_name(self, options: HarbourOptions) -> str:
        return f"quay-{options.width_m:g}m"

    def make(self, options: HarbourOptions, *, render: bool, worlds: int) -> HarbourEnv:
        return HarbourEnv(options.width_m)
