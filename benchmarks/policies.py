"""Policies that cost what a benchmark wants them to cost. They keep a clock of their forwards, from which the
rate without start-up is computed."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from proctor.plan.trial import Trial
from proctor.policies.protocol import Batch, Policy


@dataclass
class Clock:
    """Rows per second from when `slots` trials have begun, so that every worker runs and every environment is made, to
    the end of the last forward."""

    slots: int = 1
    begun: int = 0
    rows: int = 0
    _first: float | None = None
    _last: float = 0.0
    _before: int = 0

    def forward(self) -> None:
        """A forward begins."""
        if self._first is None and self.begun >= self.slots:
            self._first, self._before = time.perf_counter(), self.rows

    def answered(self, rows: int) -> None:
        self.rows += rows
        self._last = time.perf_counter()

    def rate(self) -> float:
        if self._first is None:
            raise RuntimeError(f"{self.begun} trials have begun; the rate counts from the time of {self.slots}")
        return (self.rows - self._before) / (self._last - self._first)


CLOCK = Clock()
"""Of the one policy of this process."""


class TrivialPolicy(Policy):
    """Zeros."""

    def reset(self, trials: Sequence[Trial]) -> None:
        CLOCK.begun += len(trials)

    def act(self, batch: Batch) -> np.ndarray:
        CLOCK.forward()
        actions = self.answer(batch)
        first = batch.trials[0]
        repeated = sum(trial is first for trial in batch.trials) - 1  # rows that pad the batch
        CLOCK.answered(len(batch) - repeated)
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
