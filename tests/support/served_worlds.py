"""An environment that needs numpy alone, as somebody would serve it. Workers import this file by its path."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np

from proctor_host import Env, Step, spaces


class World(Env):
    """A number that goes up with the action, from where the seed says. Some seeds make trouble at their third step,
    until the file `mark` is there."""

    observation_space = spaces.Box(-np.inf, np.inf, (3,), np.float64)
    action_space = spaces.Box(-1.0, 1.0, (2,), np.float32)
    max_steps = 12

    def __init__(self, options: Any):
        self._options, self._age, self._seed = options, 0, 0

    def reset(self, seed: int, index: int) -> Any:
        self._x = np.random.default_rng(seed).normal(size=3)
        self._age, self._seed = 0, seed
        return self._x

    def step(self, action: Any) -> Step:
        time.sleep(self._options.get("nap_s", 0.0))
        self._age += 1
        if self._age == 3 and self._seed in self._options.get("seeds", ()) and self._first_time():
            self._trouble(self._options.trouble)
        self._x = np.tanh(self._x + float(np.sum(action)))
        return Step(self._x, float(self._x[0]), False, False, bool(self._x[0] > 0), {"x": self._x.copy()})

    def render(self) -> Any:
        return np.full((16, 16, 3), self._age, np.uint8)

    def _first_time(self) -> bool:
        mark = Path(self._options.mark)
        if mark.exists():
            return False
        mark.touch()
        return True

    def _trouble(self, kind: str) -> None:
        if kind == "hang":
            time.sleep(1000)
        if kind == "die":
            os.kill(os.getpid(), signal.SIGSEGV)


def make(options: Any, *, render: bool, worlds: int) -> World:
    return World(options)
