"""Policies that cost what a benchmark wants them to cost. They keep a clock of their forwards, from which the
rate without start-up is computed."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from proctor.policies.protocol import Batch, Policy
from proctor_host.trials import Trial


class Clock:
    """When trials began and rows were answered, by one policy in one process. `slots`: those that it answers."""

    def __init__(self, slots: int):
        self._slots = slots
        self._begun: list[float] = []
        self._answered: list[tuple[float, int]] = []

    def begin(self, trials: int) -> None:
        self._begun += [time.perf_counter()] * trials

    def answered(self, rows: int) -> None:
        self._answered.append((time.perf_counter(), rows))

    def save(self, folder: Path) -> None:
        if self._answered:
            full_at = self._begun[self._slots - 1] if len(self._begun) >= self._slots else np.inf
            span = np.array([full_at, self._begun[-1]])
            np.savez(folder / f"{os.getpid()}.npz", span=span, answered=np.array(self._answered))


def read_clocks(folder: Path) -> tuple[int, float]:
    """Rows in all, and rows per second of all clocks together while every slot has a trial: from when the last slot has
    begun its first one (all workers run, all environments are made) to when the last trial begins."""
    clocks = [np.load(path) for path in sorted(folder.glob("*.npz"))]
    first, last = (max(clock["span"][i] for clock in clocks) for i in (0, 1))
    if not first < last:
        raise RuntimeError("there were not more trials than slots; the rate is that of slots that all have one")
    answered = np.concatenate([clock["answered"] for clock in clocks])
    while_full = (answered[:, 0] > first) & (answered[:, 0] <= last)
    return int(answered[:, 1].sum()), float(answered[while_full, 1].sum() / (last - first))


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
