"""Each law of PolicyConformance finds the policy that breaks it, and lets honest ones pass."""

from __future__ import annotations

import random

import numpy as np
import pytest
from gymnasium import spaces

from proctor.policies.protocol import (
    Actions,
    Execute,
    Fail,
    Policy,
    Stage,
    StagedPolicy,
    StageOutput,
)
from proctor.testing import PolicyConformance

SPACE = spaces.Box(-1, 1, (2,))
DICT = spaces.Dict({"a": SPACE, "n": spaces.Discrete(4)})


class Honest(Policy):
    """Memory, noise, chunks: nothing that a law forbids."""

    def reset(self, trials):
        return {"h": np.zeros((len(trials), 2))}

    def act(self, batch):
        hidden = 0.5 * batch.state["h"] + batch.observation + 0.1 * batch.normal((2,))
        return Actions(np.tanh(np.stack([hidden, -hidden], axis=1)), {"h": hidden})


class Staged(StagedPolicy):
    stages = (Stage("act"),)

    def forward(self, stage, batch):
        chosen = [
            Execute(np.asarray(o)[None], "act") if o[0] > 0 else Fail("negative") for o in batch.observation.copy()
        ]
        return StageOutput(chosen)


class OnDict(Policy):
    def act(self, batch):
        return (batch.observation["n"] + (batch.observation["a"][:, 0] > 0)) % 2


class TestHonest(PolicyConformance):
    observation_space = action_space = SPACE

    def make(self):
        return Honest()


class TestStaged(PolicyConformance):
    observation_space = action_space = SPACE

    def make(self):
        return Staged()


class TestOnDict(PolicyConformance):
    observation_space, action_space = DICT, spaces.Discrete(2)

    def make(self):
        return OnDict()


class Short(Policy):
    def act(self, batch):
        return np.zeros((len(batch) - 1, 2))


class Wild(Policy):
    def act(self, batch):
        return np.full((len(batch), 2), 3.0)


class NotFinite(Policy):
    def act(self, batch):
        return np.full((len(batch), 2), np.nan)


class Neighbourly(Policy):
    def act(self, batch):
        return batch.observation - batch.observation.mean(axis=0)


class Positional(Policy):
    def act(self, batch):
        return batch.observation * np.linspace(0, 1, len(batch))[:, None]


class Global(Policy):
    def act(self, batch):
        return np.tanh(batch.observation + random.random())


class Attached(Policy):
    """Remembers trials in the object instead of in the state."""

    def __init__(self):
        self.calls = 0

    def act(self, batch):
        self.calls += 1
        return np.tanh(batch.observation * self.calls)


class Aliased(Policy):
    def act(self, batch):
        return batch.observation


class Spoiling(Policy):
    def act(self, batch):
        batch.observation *= 0.5
        return np.array(batch.observation)


class Unrepeatable(Policy):
    def __init__(self):
        self.gain = np.random.default_rng().random()

    def act(self, batch):
        return batch.observation * self.gain


class SharedStart(Policy):
    """The first state depends on how many trials start together."""

    def reset(self, trials):
        return np.full((len(trials), 2), float(len(trials)))

    def act(self, batch):
        return Actions(np.tanh(batch.state), batch.state)


class Forgetful(Policy):
    """A state at the start, none afterwards."""

    def reset(self, trials):
        return np.zeros((len(trials), 2))

    def act(self, batch):
        return np.tanh(batch.observation)


@pytest.mark.parametrize(
    ("broken", "law", "message"),
    [
        (Short, "test_gives_one_answer_for_every_row", "15 answers for 16 rows"),
        (Wild, "test_actions_are_finite_and_in_the_action_space", "is not in Box"),
        (NotFinite, "test_actions_are_finite_and_in_the_action_space", "is not finite"),
        (Neighbourly, "test_rows_do_not_depend_on_each_other", "other rows' content"),
        (Positional, "test_rows_do_not_depend_on_each_other", "its place in the batch"),
        (Attached, "test_rows_do_not_depend_on_each_other", "other actions the second time"),
        (Attached, "test_a_trial_alone_equals_the_trial_in_a_batch", "trial 0 acts otherwise"),
        (Neighbourly, "test_a_trial_alone_equals_the_trial_in_a_batch", "its neighbours are others"),
        (Global, "test_global_generators_neither_matter_nor_change", "global generator of random"),
        (Aliased, "test_observation_buffers_may_be_overwritten_after_acting", "copy what you keep"),
        (Spoiling, "test_observations_are_not_changed", "changed the observation arrays"),
        (Unrepeatable, "test_two_instances_act_alike", "something random happens when one is made"),
        (SharedStart, "test_initial_state_is_each_trial_s_own", "another state alone"),
        (Forgetful, "test_a_trial_alone_equals_the_trial_in_a_batch", "state appears or vanishes"),
    ],
)
def test_a_broken_policy_is_found(broken, law, message):
    class Suite(PolicyConformance):
        observation_space = action_space = SPACE

        def make(self):
            return broken()

    with pytest.raises(AssertionError, match=message):
        getattr(Suite(), law)()


def test_make_is_required():
    with pytest.raises(NotImplementedError, match=r"write make\(\)"):
        PolicyConformance().make()
