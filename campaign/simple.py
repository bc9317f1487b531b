"""A policy of the fuzzed configs, and a network for the checkpoints that are damaged."""

from __future__ import annotations

from typing import Any

import numpy as np

from proctor import Batch, Policy


class Still(Policy):
    """Does nothing, whatever the action space."""

    def act(self, batch: Batch) -> np.ndarray:
        two_sided = batch.observation.shape[-1] == 3
        return np.zeros((len(batch), 1), np.float32) if two_sided else np.zeros(len(batch), np.int64)


def network() -> Any:
    """For Pendulum-v1: three numbers in, one out."""
    from torch import nn

    return nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
