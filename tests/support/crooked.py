"""Policies whose rows depend on what they must not, and some whose do not. Workers import this file by its path."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from proctor import Actions, Batch, Execute, Goto, Policy, Stage, StagedPolicy, StageOutput

LAST_BIT = 1e-15


class Straight(Policy):
    """Element by element, with memory and noise of the trial's own."""

    def reset(self, trials: Any) -> Any:
        return np.zeros((len(trials), 2))

    def act(self, batch: Batch) -> Actions | np.ndarray:
        state = batch.state + batch.observation[:, :2]
        return Actions(np.tanh(state + batch.normal((2,))), state)


class ByPlace(Policy):
    """As a kernel whose loop leaves a rest: later rows are rounded otherwise."""

    def act(self, batch: Batch) -> np.ndarray:
        return np.tanh(batch.observation[:, :2].astype(float)) + LAST_BIT * np.arange(len(batch))[:, None]


class ByCompany(Policy):
    """As a batch norm that was left in training mode."""

    def act(self, batch: Batch) -> np.ndarray:
        seen = batch.observation[:, :2].astype(float)
        return np.tanh(seen - seen.mean(axis=0))


class BySize(Policy):
    """As every matrix kernel."""

    def act(self, batch: Batch) -> np.ndarray:
        return np.tanh(batch.observation[:, :2].astype(float)) + LAST_BIT * (len(batch) > 1)


class ByCall(Policy):
    """As one that draws from a generator of its own."""

    def __init__(self) -> None:
        self.calls = 0

    def act(self, batch: Batch) -> np.ndarray:
        self.calls += 1
        return np.tanh(batch.observation[:, :2].astype(float)) + LAST_BIT * self.calls


class OnlySixteen(Policy):
    """As a graph that was exported for one batch size."""

    def act(self, batch: Batch) -> np.ndarray:
        if len(batch) != 16:
            raise ValueError(f"found {len(batch)} rows; expected 16")
        return np.tanh(batch.observation[:, :2])


class Slow(Policy):
    """Every forward takes a while."""

    def act(self, batch: Batch) -> np.ndarray:
        time.sleep(0.1)
        return np.tanh(batch.observation[:, :2])


class SecondStage(StagedPolicy):
    """Straight at first, by place in the stage that comes then."""

    stages = (Stage("plan", pad_to=4), Stage("move"))

    def forward(self, stage: str, batch: Batch) -> StageOutput:
        if stage == "plan":
            return StageOutput([Goto("move")] * len(batch), None)
        return StageOutput([Execute(row[None], "plan") for row in ByPlace().act(batch)], None)


def remembers(obs: Any, seen: list[int] = []) -> np.ndarray:  # noqa: B006 - that is what is wrong with it
    """A function that counts how often it was asked, whoever asks."""
    seen.append(0)
    return np.full(2, np.sin(0.1 * len(seen)))
