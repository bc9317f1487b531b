from __future__ import annotations

import numpy as np
import pytest
from gymnasium import spaces

from proctor.config.models import AgentCfg
from proctor.errors import InputError
from proctor.policies import load_policy
from proctor.policies.protocol import SpaceInfo
from proctor.testing import PolicyConformance
from proctor_host.spaces import neutral_action, random_action

OBSERVATION = spaces.Box(-1, 1, (3,))
ACTIONS = {
    "box": spaces.Box(np.array([-2, 1], np.float32), np.array([-1, 4], np.float32)),
    "unbounded": spaces.Box(-np.inf, np.inf, (2, 2)),
    "half": spaces.Box(0, np.inf, (2,), np.float64),
    "whole": spaces.Box(-3, 5, (4,), np.int32),
    "discrete": spaces.Discrete(3, start=-1),
    "multi": spaces.MultiDiscrete([2, 5], start=[1, -3]),
    "binary": spaces.MultiBinary((2, 3)),
}


def load(policy: str, **actions):
    info = SpaceInfo(dict.fromkeys(actions, OBSERVATION), actions)
    return load_policy(AgentCfg(name="a", policy=policy), info)


@pytest.mark.parametrize("kind", ACTIONS)
@pytest.mark.parametrize("policy", ["random", "zero"])
class TestBaselines(PolicyConformance):
    observation_space = OBSERVATION

    @pytest.fixture(autouse=True)
    def _subject(self, policy, kind):
        self.policy, self.action_space = policy, ACTIONS[kind]

    def make(self):
        return load(self.policy, task=self.action_space)


@pytest.mark.parametrize("kind", ACTIONS)
def test_random_actions_fill_the_space_and_differ(kind):
    space, rng = ACTIONS[kind], np.random.default_rng(0)
    drawn = [random_action(space, rng) for _ in range(300)]
    assert all(space.contains(a) for a in drawn)
    values = np.array(drawn, float).reshape(300, -1)
    assert (values.std(axis=0) > 0.2).all()
    if kind in ("whole", "discrete", "multi", "binary"):
        low = np.ravel(getattr(space, "low", getattr(space, "start", 0)))
        assert (values.min(axis=0) == low).all()


def test_random_leaves_the_space_s_own_generator_alone():
    space = spaces.Box(-1, 1, (2,), seed=3)
    before = space.np_random.bit_generator.state
    random_action(space, np.random.default_rng(0))
    assert space.np_random.bit_generator.state == before


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("box", [-1, 1]), ("discrete", 0), ("multi", [1, 0]), ("half", [0, 0]), ("binary", np.zeros((2, 3)))],
)
def test_neutral_action_is_zero_or_the_nearest(kind, expected):
    assert np.array_equal(neutral_action(ACTIONS[kind]), expected)


def test_tasks_with_other_action_spaces_share_a_batch(make_batch):
    policy = load("random", one=spaces.Discrete(2), two=spaces.Box(-1, 1, (3,)))
    mixed = policy.act(make_batch(np.zeros((4, 3)), tasks=["one", "two", "one", "two"]))
    alone = policy.act(make_batch(np.zeros((1, 3)), tasks=["one"]))
    assert [np.shape(a) for a in mixed] == [(), (3,), (), (3,)]
    assert mixed[0] == alone[0]


def test_unknown_spaces_are_refused():
    with pytest.raises(InputError, match=r'the random agent knows Box, .* task "task" has Text'):
        load("random", task=spaces.Text(3))
