from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

from proctor.policies.protocol import Batch, SpaceInfo
from proctor_host.trials import Trial

MakeBatch = Callable[..., Batch]


@pytest.fixture
def make_batch() -> MakeBatch:
    """A batch of the given observation rows, one trial per row; all of the task "task" unless `tasks` says
    otherwise."""

    def make(observation: Any, state: Any = None, tasks: list[str] | None = None, first: int = 0) -> Batch:
        rows = len(next(iter(observation.values())) if isinstance(observation, dict) else observation)
        trials = [Trial("a", t, i + first, 100 + i + first) for i, t in enumerate(tasks or ["task"] * rows)]
        return Batch(observation, state, [t.policy_rng() for t in trials], trials)

    return make


@pytest.fixture
def info() -> Callable[..., SpaceInfo]:
    """SpaceInfo of one task called "task"."""

    def make(observation: Any, action: Any) -> SpaceInfo:
        observation = spaces.Box(-np.inf, np.inf, (observation,)) if isinstance(observation, int) else observation
        return SpaceInfo({"task": observation}, {"task": action})

    return make
