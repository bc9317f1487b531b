"""What a config may say of a soccer task, and what it is told where it may not; the agent that stands."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import Box

from proctor import ConfigError, config_from_dict
from proctor.errors import InputError, MissingExtra
from proctor.policies.protocol import Batch, SpaceInfo
from proctor.suites.soccer.agents import Stand
from proctor.suites.soccer.options import SoccerOptions
from proctor.suites.soccer.suite import SoccerSuite
from proctor.suites.soccer.tasks import NAMES, OFFICIAL, TASKS, task_id
from proctor.testing import PolicyConformance
from proctor_host.trials import Trial

LIMITS = np.array([45, 45, 30, 65, 24, 15] * 2, np.float32)


def test_short_names_and_ids_mean_the_same() -> None:
    assert task_id("goalie_penalty_kick") == "LowerT1GoaliePenaltyKick-v0" == task_id("LowerT1GoaliePenaltyKick-v0")
    assert task_id("t1_kick_to_target") == "T1KickToTarget-v0"
    assert {task_id(name) for name in TASKS} == set(NAMES)
    assert SoccerOptions().task == OFFICIAL[0]
    assert [SoccerOptions(task=task).code_index for task in OFFICIAL] == [0, 1, 2]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"task": "goalie_penalty"}, 'found "goalie_penalty"; expected one of goalie_penalty_kick, .*did you mean'),
        ({"task": "goal_keeper"}, 'found "goal_keeper", which sai-mujoco registers but cannot build'),
        (
            {"task": "T1PenaltyKick-v0", "preprocessor": "official"},
            "is for the robot with legs only, not for T1Penalty",
        ),
        ({"task": "penalty_kick", "preprocessor": "official"}, "expected task_index: 0 to 2, or task_count: 0"),
        (
            {"preprocessor": "official", "task_index": 3},
            "the task code has 3 entries and task_index is 3; count from 0",
        ),
        ({"preprocessor": "offical"}, "expected one of none, official"),
        ({"match_seeds": {"master": -1}}, "at least 0"),
        ({"match_seeds": {}}, "master"),
        ({"match_seeds": {"master": 2**256}}, "at most"),
        ({"taks": "kick_to_target"}, "task"),
    ],
)
def test_wrong_options_are_refused_with_a_way_out(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        config_from_dict({"agents": [{"policy": "zero"}], "tasks": [{"suite": "soccer", "options": options}]})


def test_without_the_simulator_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sai_mujoco", None)
    with pytest.raises(MissingExtra, match=r'the soccer suite needs the package "sai_mujoco".*"proctor\[soccer\]"'):
        SoccerSuite().make(SoccerOptions(), render=False, worlds=1)


# The agent ------------------------------------------------------------------------------------------------------------


def spaces(*shapes: int) -> SpaceInfo:
    observation = {f"task{n}": Box(-np.inf, np.inf, (n,), np.float32) for n in shapes}
    return SpaceInfo(observation, {name: Box(-LIMITS, LIMITS) for name in observation})


class TestStand(PolicyConformance):
    observation_space = spaces(45).observation["task45"]
    action_space = Box(-LIMITS, LIMITS)
    task = "task45"

    def make(self) -> Stand:
        return Stand(spaces(45))


def act(policy: Stand, joints: np.ndarray) -> np.ndarray:
    observation = np.zeros((1, 45), np.float32)
    observation[0, :24] = joints
    trials = [Trial("stand", "task45", 0, 0)]
    return np.asarray(policy.act(Batch(observation, None, [np.random.default_rng(0)], trials)))[0]


def test_stand_is_a_spring_and_a_damper_within_the_motors_limits() -> None:
    policy = Stand(spaces(45), stiffness=100.0, damping=2.0)
    joints = np.zeros(24)
    joints[12 + 3] = 1.0
    torques = act(policy, joints)
    assert torques[:6] == pytest.approx([-15.0, 0.0, 0.0, 30.0 - 2.0, -15.0, 0.0])
    joints[3] = -5.0
    assert act(policy, joints)[3] == 65.0


def test_stand_refuses_what_it_cannot_drive() -> None:
    other = SpaceInfo({}, {"whole": Box(-1, 1, (23,), np.float32)})
    with pytest.raises(InputError, match=r'drives 12 joint torques, but the actions of task "whole" are Box'):
        Stand(other)
    with pytest.raises(InputError, match="stiffness -1"):
        Stand(spaces(45), stiffness=-1.0)
