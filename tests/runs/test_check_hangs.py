"""`check` comes back, whatever hangs, and says which call it was."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from examining import examination

from proctor import config_from_dict
from proctor.runs.check import Check, check

HANGING = """
import time

import gymnasium
import numpy as np
from gymnasium.spaces import Box

from proctor import Policy


class Sleepy(gymnasium.Env):
    observation_space = Box(-1, 1, (2,), np.float32)
    action_space = Box(-1, 1, (1,), np.float32)

    def __init__(self, hangs=""):
        self.hangs = hangs
        self.at("make")

    def at(self, place):
        if place == self.hangs:
            time.sleep(600)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at("reset")
        self.age = 0
        return self.np_random.random(2, np.float32), {}

    def step(self, action):
        self.at("step")
        self.age += 1
        return self.np_random.random(2, np.float32), 1.0, self.age >= 4, False, {"success": True}

    def close(self):
        self.at("close")


gymnasium.registry.pop("Sleepy-v0", None)
gymnasium.register("Sleepy-v0", Sleepy)


class Agent(Policy):
    def __init__(self, hangs=""):
        self.hangs = hangs

    def reset(self, trials):
        if self.hangs == "reset":
            time.sleep(600)

    def act(self, batch):
        if self.hangs == "act":
            time.sleep(600)
        return np.zeros((len(batch), 1))

    def close(self):
        if self.hangs == "close":
            time.sleep(600)
"""

Checked = Callable[..., Check]


@pytest.fixture
def checked(tmp_path: Path) -> Checked:
    file = tmp_path / "hanging.py"
    file.write_text(HANGING)

    def run(env: str = "", agent: str = "", **keys: Any) -> Check:
        task = {"suite": "gymnasium", "name": "sleepy"}
        task["options"] = {"id": f"{file}:Sleepy-v0", "kwargs": {"hangs": env}}
        agents = [{"name": "agent", "policy": f"{file}:Agent", "options": {"kwargs": {"hangs": agent}}}]
        limits = {"step_s": 0.5, "reset_s": 2.0, "act_s": 0.5}
        cfg = examination(tmp_path / "out", tasks=[task], agents=agents, limits=limits, **keys)
        return check(config_from_dict(cfg))

    return run


@pytest.mark.parametrize("workers", ["inline", 1])
@pytest.mark.parametrize(
    ("env", "says"),
    [
        ("make", "the environment was not made within 2 s"),
        ("reset", "the environment did not return from reset within 2 s"),
        ("step", "the environment did not return from step within 0.5 s"),
    ],
)
def test_an_environment_that_hangs_is_a_problem_that_names_the_call(
    checked: Checked, env: str, says: str, workers: Any
) -> None:
    found = checked(env=env, workers=workers)
    assert any("sleepy" in problem and says in problem for problem in found.problems), found.problems


@pytest.mark.parametrize("workers", ["inline", 1])
def test_an_environment_that_does_not_close_is_said(checked: Checked, workers: Any) -> None:
    found = checked(env="close", workers=workers)
    said = [*found.problems, *found.warnings]
    assert any("the environment did not return from close within 2 s" in line for line in said), said


@pytest.mark.parametrize("workers", ["inline", 1])
@pytest.mark.parametrize("agent", ["act", "reset"])
def test_a_policy_that_does_not_answer_is_a_problem(checked: Checked, agent: str, workers: Any) -> None:
    assert checked(agent=agent, workers=workers).problems == ['agent "agent": the policy did not answer within 0.5 s']


@pytest.mark.parametrize("workers", ["inline", 1])
def test_a_policy_that_does_not_close_is_said(checked: Checked, workers: Any) -> None:
    found = checked(agent="close", workers=workers)
    assert found.problems == ['agent "agent": the policy did not return from close within 0.5 s']


@pytest.mark.parametrize("workers", ["inline", 1])
def test_what_does_not_hang_is_fine(checked: Checked, workers: Any) -> None:
    found = checked(workers=workers)
    assert (found.problems, found.warnings) == ([], [])
