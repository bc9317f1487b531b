"""Policies that cost what a benchmark wants them to cost. They keep a clock of their forwards, from which the
rate without start-up is computed."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from proctor.policies.protocol import Batch, Policy


@dataclass
class Clock:
    """When the first forward began and the last one ended, in seconds of `time.perf_counter`."""

    first: float = float("inf")
    last: float = 0.0
    forwards: int = 0


CLOCK = Clock()
"""Of the one policy of this process."""


class TrivialPolicy(Policy):
    """Zeros."""

    def act(self, batch: Batch) -> np.ndarray:
        CLOCK.first = min(CLOCK.first, time.perf_counter())
        actions = self.answer(batch)
        CLOCK.last = time.perf_counter()
        CLOCK.forwards += 1
        return actions

    def answer(self, batch: Batch) -> np.ndarray:
        return np.zeros((len(batch), 4), np.float32)


class CameraPolicy(TrivialPolicy):
    """Looks at a corner of both pictures of every row, and complains of a wrong one."""

    def answer(self, batch: Batch) -> np.ndarray:
        corners = (batch.observation["front"][:, -1, -1], batch.observation["wrist"][:, -1, -1])
        if not all((corner == 255).all() for corner in corners):
            raise ValueError("a picture did not arrive whole")
        return super().answer(batch)


class SleepyPolicy(TrivialPolicy):
    """20 ms per forward whatever the batch, the GIL released."""

    def answer(self, batch: Batch) -> np.ndarray:
        time.sleep(0.020)
        return super().answer(batch)
