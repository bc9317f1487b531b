"""A policy whose actions show every difference between two ways of asking it: it has a memory, draws noise, and
multiplies matrices, which round differently in batches of different sizes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from proctor.policies.protocol import Actions, Batch, Policy
from proctor_host.trials import Trial

JOINTS, STATE = 29, 64
ACTED: dict[int, list[bytes]] = defaultdict(list)
"""By seed of the trial, the actions that it got."""


class Restless(Policy):
    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self._seen, self._kept = (rng.normal(size=(n, JOINTS)).astype(np.float32) / 8 for n in (STATE, JOINTS))

    def reset(self, trials: Sequence[Trial]) -> np.ndarray:
        return np.zeros((len(trials), JOINTS), np.float32)

    def act(self, batch: Batch) -> Actions:
        noise = batch.normal((JOINTS,)).astype(np.float32)
        kept = np.tanh(batch.observation["state"] @ self._seen + batch.state @ self._kept + noise / 10)
        actions = 0.3 * kept
        for trial, action in dict(zip(reversed(batch.trials), reversed(list(actions)), strict=True)).items():
            ACTED[trial.seed].append(action.tobytes())
        return Actions(actions, kept)
