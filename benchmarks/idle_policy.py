"""A policy that costs nothing, for an interpreter with numpy alone."""

from __future__ import annotations

import numpy as np

from proctor import Batch, Policy


class IdlePolicy(Policy):
    def act(self, batch: Batch) -> np.ndarray:
        return np.zeros(len(batch), np.int64)
