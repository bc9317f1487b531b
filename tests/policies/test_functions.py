"""A plain function behind an import string is a policy; what makes one is told apart by its signature."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium import spaces

from proctor.config.models import AgentCfg
from proctor.errors import InputError
from proctor.policies import Policy, fingerprint, load_policy
from proctor.testing import PolicyConformance

SOURCE = """
import numpy as np
from proctor import Batch, Policy

class Mine(Policy):
    def __init__(self, gain=1.0):
        self.gain = gain

    def act(self, batch):
        return -self.gain * batch.observation[:, :1]

def one(obs):
    assert obs.shape == (2,)
    return -obs[:1]

def rows(observations):
    return -observations[:, :1]

def whole(batch: Batch):
    return -batch.observation[:, :1]

def vague(thing):
    return -np.atleast_2d(thing)[:, :1] if np.ndim(thing) > 1 else -thing[:1]

def typed(thing: np.ndarray):
    return -thing[:1]

def scaled(obs, gain, sign=-1.0):
    return sign * gain * obs[:1]

def noisy(obs, rng):
    return rng.uniform(-1, 1, 1)

def factory(gain=1.0):
    return Mine(gain)

def makes(gain) -> Policy:
    return Mine(gain)

def told(spaces, checkpoint=None):
    return Mine()

class Counting:
    def __init__(self, start=0):
        self.count = start

    def reset(self):
        self.count = 0

    def act(self, observation):
        self.count += 1
        return np.array([self.count / 10])

counting = Counting()
ready = Mine()
lazy = lambda obs: -obs[:1]
"""
SPACE, ACTION = spaces.Box(-1, 1, (2,)), spaces.Box(-1, 1, (1,))


@pytest.fixture
def base(tmp_path):
    (tmp_path / "mine.py").write_text(SOURCE)
    return tmp_path


def loaded(base, info, target, **options):
    agent = AgentCfg(name="a", policy=f"mine.py:{target}", options=options)
    return load_policy(agent, info(SPACE, ACTION), base)


@pytest.mark.parametrize(
    ("target", "options"),
    [
        ("one", {}),
        ("rows", {}),
        ("whole", {}),
        ("typed", {}),
        ("lazy", {}),
        ("vague", {"batched": False}),
        ("vague", {"batched": True}),
        ("scaled", {"kwargs": {"gain": 1.0}}),
        ("factory", {}),
        ("makes", {"kwargs": {"gain": 1.0}}),
        ("told", {}),
        ("ready", {}),
        ("Mine", {}),
    ],
)
def test_functions_and_what_makes_policies_act_alike(base, info, make_batch, target, options):
    policy = loaded(base, info, target, **options)
    assert isinstance(policy, Policy)
    batch = make_batch(np.random.default_rng(0).uniform(-1, 1, (16, 2)).astype(np.float32))
    assert np.array_equal(np.asarray(policy.act(batch)), -batch.observation[:, :1])


def test_the_trials_own_generator_is_handed_over(base, info, make_batch):
    first, second = (loaded(base, info, "noisy").act(make_batch(np.zeros((4, 2)))) for _ in range(2))
    assert np.array_equal(first, second)
    assert len(np.unique(first)) == 4


def test_every_trial_has_its_own_object_of_a_class(base, info, make_batch):
    policy = loaded(base, info, "Counting")
    batch = make_batch(np.zeros((3, 2)))
    batch.state = policy.reset(batch.trials)
    once = policy.act(batch)
    batch.state = once.state
    assert (once.actions == 0.1).all()
    assert (policy.act(batch).actions == 0.2).all()


def test_the_file_of_a_function_belongs_to_the_agent(base):
    agent = AgentCfg(name="a", policy="mine.py:one")
    before = fingerprint(agent, base)
    (base / "mine.py").write_text(SOURCE + "\n# changed\n")
    assert fingerprint(agent, base) != before


@pytest.mark.parametrize(
    ("agent", "text"),
    [
        (
            {"policy": "mine.py:vague"},
            "takes thing, which nobody gives it. If it makes a policy, set options.kwargs: {thing: ...}; if thing is "
            "what it observes, say so with options.batched: false (one observation) or true (rows of them)",
        ),
        ({"policy": "mine.py:makes"}, "missing a required argument: 'gain' (kwargs: none)"),
        ({"policy": "mine.py:counting"}, "has a reset(), so it remembers"),
        (
            {"policy": "mine.py:ready", "options": {"kwargs": {"gain": 2}}},
            "is made already (a Mine), so kwargs would be ignored; name its class, or a function that makes it",
        ),
        ({"policy": "mine.py:one", "checkpoint": "mine.py"}, "has a checkpoint, but mine.py:one takes none"),
    ],
)
def test_what_cannot_be_told_is_asked(base, info, agent, text):
    with pytest.raises(InputError) as error:
        load_policy(AgentCfg(name="a", **agent), info(SPACE, ACTION), base)
    assert text in str(error.value)


class TestFunctionLaws(PolicyConformance):
    observation_space, action_space = SPACE, ACTION

    @pytest.fixture(autouse=True)
    def _files(self, base, info):
        self.loaded = lambda: loaded(base, info, "one")

    def make(self):
        return self.loaded()
