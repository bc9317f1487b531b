"""Policies that cost what a benchmark wants them to cost. They keep a clock of their forwards, from which the
rate without start-up is computed."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from proctor.plan.trial import Trial
from proctor.policies.protocol import Batch, Policy


class Clock:
    """When rows were answered, by one policy in one process. `slots`: those that this policy answers."""

    def __init__(self, slots: int):
        self._slots, self._begun = slots, 0
        self._rows = 0
        self._answered: list[tuple[float, int]] = []
        self._full_at = float("inf")

    def begin(self, trials: int) -> None:
        self._begun += trials
        if self._begun >= self._slots and self._full_at == float("inf"):
            self._full_at = time.perf_counter()

    def answered(self, rows: int) -> None:
        self._rows += rows
        self._answered.append((time.perf_counter(), self._rows))

    def save(self, folder: Path) -> None:
        if self._answered:
            np.save(folder / f"{os.getpid()}.npy", np.array([(self._full_at, 0), *self._answered]))


def read_clocks(folder: Path) -> tuple[int, float]:
    """Rows in all, and rows per second of all clocks together: from when every slot of every process has begun a trial,
    so that all workers run and all environments are made, to the end of the last forward."""
    clocks = [np.load(path) for path in sorted(folder.glob("*.npy"))]
    first, last = max(clock[0, 0] for clock in clocks), max(clock[-1, 0] for clock in clocks)
    if not first < last:
        raise RuntimeError("not every slot has begun a trial; the rate counts from then")
    rows = sum(clock[-1, 1] - (clock[1:, 1][clock[1:, 0] <= first]).max(initial=0) for clock in clocks)
    return sum(int(clock[-1, 1]) for clock in clocks), float(rows / (last - first))


class TrivialPolicy(Policy):
    """Zeros. `clocks`: where its clock is left."""

    def __init__(self, clocks: str, slots: int):
        self._clock, self._clocks = Clock(slots), Path(clocks)

    def reset(self, trials: Sequence[Trial]) -> None:
        self._clock.begin(len(trials))

    def act(self, batch: Batch) -> np.ndarray:
        actions = self.answer(batch)
        first = batch.trials[0]
        repeated = sum([trial is first for trial in batch.trials]) - 1  # rows that pad the batch
        self._clock.answered(len(batch) - repeated)
        return actions

    def answer(self, batch: Batch) -> np.ndarray:
        return np.zeros((len(batch), 4), np.float32)

    def close(self) -> None:
        self._clock.save(self._clocks)


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
