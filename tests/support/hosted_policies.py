"""Policies that need numpy alone, for hosts of any interpreter."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import numpy as np

from proctor import Actions, Batch, Execute, Goto, LeftPad, Policy, Stage, StagedPolicy, StageOutput


class Drawing(Policy):
    """Draws, and remembers how often it was asked."""

    def reset(self, trials):
        return {"asked": np.zeros((len(trials), 1)), "last": (np.zeros(len(trials), np.int64),)}

    def act(self, batch: Batch) -> Actions:
        asked = batch.state["asked"] + 1
        chosen = (batch.normal((1,))[:, 0] + batch.observation[:, 2] + 0.01 * asked[:, 0] > 0).astype(np.int64)
        return Actions(chosen, {"asked": asked, "last": (chosen,)})


class Chunks(Policy):
    """Two actions at a time, nothing drawn and nothing remembered."""

    def act(self, batch: Batch) -> np.ndarray:
        first = (batch.observation[:, 2] > 0).astype(np.int64)
        return np.stack([first, 1 - first], axis=1)


class Planned(StagedPolicy):
    """Plans by the words of its task, then acts."""

    stages = (Stage("plan", tokens=LeftPad(8)), Stage("act", pad_to=4))

    def __init__(self, spaces):
        self.shape = {task: space.shape for task, space in spaces.observation.items()}

    def reset(self, trials):
        return {"plan": np.zeros(len(trials))}

    def tokens(self, trial):
        return [len(trial.task), trial.index]

    def forward(self, stage, batch):
        if stage == "plan":
            drawn = batch.uniform() + batch.tokens.sum(axis=1) % 2 - 1
            return StageOutput([Goto("act")] * len(batch), {"plan": drawn})
        chosen = (batch.observation[:, 2] + batch.state["plan"] > 0).astype(np.int64)
        return StageOutput([Execute(np.repeat(one, 3), "plan") for one in chosen], batch.state)


class Troubled(Policy):
    """Does something for one of its trials, at its third step: `die`, `raise`, `hang`, `keep`."""

    def __init__(self, trouble: str, folder: str, index: int = 1):
        self.trouble, self.index, self.folder = trouble, index, Path(folder)
        (self.folder / f"loaded-{os.getpid()}").touch()

    def reset(self, trials):
        return {"asked": np.zeros(len(trials))}

    def act(self, batch: Batch) -> Actions:
        print("a word to whoever reads along")
        asked = batch.state["asked"] + 1
        guilty = [trial.index == self.index and n == 3 for trial, n in zip(batch.trials, asked)]  # noqa: B905 - Python 3.8 has none
        if any(guilty):
            self.make_trouble()
        return Actions((batch.observation[:, 2] > 0).astype(np.int64), {"asked": asked})

    def make_trouble(self) -> None:
        if self.trouble == "die":
            os.kill(os.getpid(), signal.SIGSEGV)
        elif self.trouble == "raise":
            raise LookupError("no such thing")
        elif self.trouble == "hang":
            time.sleep(600)
        elif self.trouble == "once" and not (self.folder / "once").exists():
            (self.folder / "once").touch()
            os.kill(os.getpid(), signal.SIGKILL)


class Keeping(Policy):
    """Its state is made of objects."""

    def reset(self, trials):
        return {"thing": np.array([object() for _ in trials])}

    def act(self, batch: Batch) -> np.ndarray:
        return np.zeros(len(batch), np.int64)


class Wanting(Policy):
    """Wants what nobody has."""

    def __init__(self):
        import a_package_that_nobody_has  # noqa: F401  # pyright: ignore

    def act(self, batch: Batch) -> np.ndarray:
        return np.zeros(len(batch), np.int64)


def plain(obs):
    """A function of one observation."""
    return int(obs[2] > 0)


def drawn(obs, rng, trial):
    """A function that draws, and knows its trial."""
    return int(rng.random() + obs[2] + 0.01 * trial.index > 0.5)


def rows(observations):
    """A function of rows."""
    return (observations[:, 2] > 0).astype(np.int64)


def bound(obs, threshold):
    """A function with something to be told."""
    return int(obs[2] > threshold)


class Remembering:
    """An object for every trial, which remembers."""

    def __init__(self, every=3):
        self.every = every

    def reset(self):
        self.seen = []

    def act(self, observation):
        self.seen.append(float(observation[2]))
        return int(sum(self.seen[-self.every :]) > 0)


class Stateless:
    """Asked by `predict`, with a state beside the action, as Stable-Baselines3 has it."""

    def predict(self, observation, deterministic=False):
        assert deterministic
        return np.int64(observation[2] > 0), None


READY = Stateless()


class Locked(Remembering):
    """Cannot be pickled, so it cannot be kept."""

    def __init__(self):
        super().__init__()
        self.lock = open(__file__)  # noqa: SIM115

    def __deepcopy__(self, memo):
        return self
