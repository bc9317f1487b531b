"""A suite for conformance tests: small worlds that make trouble on request. Workers find it by its import string."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from gymnasium import spaces

from proctor.suites.protocol import Env, Step, Suite, SuiteOptions

SUITE = "proctor.testing.worlds:TroubleSuite"
TROUBLED = 1
"""The index of the trial that has the trouble."""


class TroubleOptions(SuiteOptions):
    """`trouble`: what the third step of the trial with index 1 does. `die` does it once: the file `marker` says that it
    has been done."""

    trouble: Literal["", "raise", "die", "hang"] = ""
    marker: str = ""


class TroubleEnv(Env):
    """A seeded walk of twelve steps; success is to end on the right."""

    observation_space = spaces.Box(-np.inf, np.inf, (3,), np.float32)
    action_space = spaces.Box(-1.0, 1.0, (2,), np.float32)
    max_steps = 12

    def __init__(self, options: TroubleOptions):
        self._options = options

    def reset(self, seed: int, index: int) -> np.ndarray:
        self._rng, self._index, self._age = np.random.default_rng([seed, index]), index, 0
        self._place = self._rng.standard_normal(3).astype(np.float32)
        return self._place.copy()

    def step(self, action: Any) -> Step:
        self._age += 1
        if self._age == 3 and self._index == TROUBLED:
            self._make_trouble()
        self._place[:2] += np.asarray(action, np.float32)
        self._place += self._rng.standard_normal(3).astype(np.float32)
        signals = {"age": self._age, "height": self._place[2], "place": self._place.astype(np.float64)}
        success = bool(self._place[0] > 0)
        return Step(self._place.copy(), float(self._place[2]), self._age == self.max_steps, False, success, signals)

    def _make_trouble(self) -> None:
        match self._options.trouble:
            case "raise":
                raise RuntimeError("this world breaks")
            case "hang":
                time.sleep(3600.0)
            case "die" if not os.path.exists(self._options.marker):
                Path(self._options.marker).touch()
                os._exit(7)


class TroubleSuite(Suite):
    """Small worlds for conformance tests."""

    name: ClassVar[str] = "trouble"
    Options: ClassVar[type[SuiteOptions]] = TroubleOptions

    def task_name(self, options: TroubleOptions) -> str:
        return "walk"

    def make(self, options: TroubleOptions, *, render: bool, worlds: int) -> TroubleEnv:
        return TroubleEnv(options)
