"""What the campaign examines: an environment and policies that break when they are told to, and only then.

The environment is told by files in the folder that the variable `CAMPAIGN_TOKENS` names, one for each fault:
`CALL.FAULT.SEED.STEP`. Whoever removes the file has to break, so that a fault happens once and the next attempt goes
well. The agent `Faulty` breaks by the seed of the trial alone: its faults belong to its results, and every run of it,
disturbed or not, must blame it alike.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box

from proctor import Actions, Batch, Policy

TOKENS = "CAMPAIGN_TOKENS"
FOREVER_S = 3600.0
FLOOD = "the simulator talks and talks\n" * 40_000


class Walk(gymnasium.Env[Any, Any]):
    """Noisy nonlinear dynamics in 4 dimensions; the seed decides start, noise and length."""

    def __init__(self, nap_s: float = 0.0):
        self.observation_space = Box(-np.inf, np.inf, (4,), np.float32)
        self.action_space = Box(-1.0, 1.0, (2,), np.float32)
        self.nap_s, self.seed, self.age = nap_s, -1, 0
        self.told: dict[tuple[str, int], str] = {}

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        self.seed, self.age = -1 if seed is None else seed, 0
        self.told = _told(self.seed)
        self._obey("reset")
        self.x = self.np_random.normal(size=4)
        self.left = int(self.np_random.integers(4, 20))
        return self.x.astype(np.float32), {}

    def step(self, action: Any) -> Any:
        time.sleep(self.nap_s)
        self.age += 1
        wrong = self._obey("step")
        push = np.resize(np.asarray(action, np.float64), 4)
        self.x = np.tanh(1.1 * self.x + push + 0.1 * self.np_random.normal(size=4))
        self.left -= 1
        reward, observation = float(self.x.sum()), self.x.astype(np.float32)
        if wrong == "nan_reward":
            reward = float("nan")
        if wrong == "wrong_shape":
            observation = observation[:2]
        done: Any = "False" if wrong == "word_for_bool" else self.left <= 0
        return observation, reward, done, False, {"success": bool(self.x[0] > 0), "x": self.x.copy()}

    def _obey(self, call: str) -> str:
        fault = self.told.pop((call, self.age), "")
        if not fault or not _claimed(f"{call}.{fault}.{self.seed}.{self.age}"):
            return ""
        if fault in DEEDS:
            DEEDS[fault]()
        return fault


def _told(seed: int) -> dict[tuple[str, int], str]:
    """The faults of a trial with this seed: (call, step) -> fault."""
    folder = os.environ.get(TOKENS)
    if folder is None:
        return {}
    with contextlib.suppress(FileNotFoundError):
        found = (name.split(".") for name in os.listdir(folder))
        return {(call, int(step)): fault for call, fault, at, step in found if int(at) == seed}
    return {}


def _claimed(token: str) -> bool:
    try:
        Path(os.environ[TOKENS], token).unlink()
    except FileNotFoundError:
        return False
    return True


# What an environment may do ------------------------------------------------------------------------------------------


def _raise() -> None:
    raise RuntimeError("the simulator diverged")


def _hang() -> None:
    time.sleep(FOREVER_S)


def _segfault() -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def _exit() -> None:
    sys.exit(0)


def _vanish() -> None:
    os._exit(0)


def _memory() -> None:
    raise MemoryError


def _flood() -> None:
    print(FLOOD, flush=True)


def _leave_child() -> None:
    """A simulator that goes its own way: in its own session, and nobody waits for it."""
    subprocess.Popen(["sleep", str(FOREVER_S)], start_new_session=True)


DEEDS = {
    "raise": _raise, "hang": _hang, "segfault": _segfault, "exit": _exit, "vanish": _vanish, "memory": _memory,
    "flood": _flood, "leave_child": _leave_child,
}  # fmt: skip


# Policies ------------------------------------------------------------------------------------------------------------

WEIGHTS = np.random.default_rng(5).normal(size=(4, 2)).astype(np.float32)


class Steady(Policy):
    """Deterministic, without state."""

    def act(self, batch: Batch) -> np.ndarray:
        return np.tanh(batch.observation @ WEIGHTS)


class Moody(Policy):
    """Draws noise, keeps a state, and gives chunks of three actions."""

    def reset(self, trials: Any) -> Any:
        return {"mood": np.zeros((len(trials), 2), np.float32)}

    def act(self, batch: Batch) -> Actions:
        mood = (0.9 * batch.state["mood"] + 0.1 * (batch.observation @ WEIGHTS)).astype(np.float32)
        actions = np.tanh(mood)[:, None] + 0.3 * batch.normal((3, 2))
        return Actions(np.clip(actions, -1, 1).astype(np.float32), {"mood": mood})


class Faulty(Policy):
    """Breaks in some trials, by their seeds, at their first action."""

    def reset(self, trials: Any) -> Any:
        return {"seed": np.array([trial.seed for trial in trials], np.int64)}

    def act(self, batch: Batch) -> Actions:
        actions, kinds = np.tanh(batch.observation @ WEIGHTS), batch.state["seed"] % 5
        if (kinds == 1).any():
            raise ValueError("this observation is beyond me")
        if (kinds == 3).any():
            sys.exit(0)
        actions[kinds == 2] = np.nan
        return Actions(actions, batch.state)


if "CampaignWalk-v0" not in gymnasium.registry:
    gymnasium.register(
        "CampaignWalk-v0",
        lambda **kwargs: Walk(**kwargs),
        max_episode_steps=16,
        disable_env_checker=True,
        order_enforce=False,
    )
