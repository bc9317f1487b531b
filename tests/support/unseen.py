"""A suite whose environment writes down which of its steps somebody looked at, and whose tasks come in pairs."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from gymnasium.spaces import Box

from proctor.policies.protocol import Batch, Policy
from proctor.suites.protocol import Env, Step, Suite, SuiteOptions

LOOKS: list[str] = []
"""What happened, in order: `reset`, `look`, `skip`."""


class Options(SuiteOptions):
    """`lazy`: steps may be unseen. `ends_at`: the step that succeeds."""

    lazy: bool = True
    ends_at: int = 1000


class Counter(Env):
    observation_space = Box(-np.inf, np.inf, (1,), np.float64)
    action_space = Box(-1.0, 1.0, (1,), np.float64)

    def __init__(self, options: Options):
        self.options, self.skips_observations, self.total = options, options.lazy, 0.0

    def reset(self, seed: int, index: int) -> np.ndarray:
        LOOKS.append("reset")
        self.total, self.steps = float(seed), 0
        return np.array([self.total])

    def step(self, action: np.ndarray) -> Step:
        LOOKS.append("look")
        return self._advance(action)._replace(observation=np.array([self.total]))

    def step_unseen(self, action: np.ndarray) -> Step:
        LOOKS.append("skip")
        return self._advance(action)

    def _advance(self, action: np.ndarray) -> Step:
        self.total += float(action[0])
        self.steps += 1
        return Step(None, self.total, False, False, self.steps == self.options.ends_at)


class Pairs(Suite):
    """Counters."""

    name: ClassVar[str] = "pairs"
    seeds_matter: ClassVar[bool] = True
    Options: ClassVar[type[SuiteOptions]] = Options

    def task_name(self, options: Options) -> str:
        return "lazy" if options.lazy else "eager"

    def expand(self, options: dict[str, Any]) -> list[dict[str, Any]]:
        return [options] if "lazy" in options else [{**options, "lazy": lazy} for lazy in (True, False)]

    def task_defaults(self, options: Options) -> dict[str, Any]:
        return {"success_rule": "ever", "n_trials": 2, "wait_steps": 1}

    def make(self, options: Options, *, render: bool, worlds: int) -> Env:
        return Counter(options)


class Threes(Policy):
    """Chunks of three that depend on what was seen; with `spoiled` the third is not finite."""

    def __init__(self, spoiled: bool = False):
        self._last = np.nan if spoiled else 0.25

    def act(self, batch: Batch) -> np.ndarray:
        seen = np.sin(batch.observation)
        return np.stack([seen, -0.5 * seen, np.full_like(seen, self._last)], axis=1)
