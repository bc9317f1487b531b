"""Each law of SuiteConformance finds what breaks it."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest
from gymnasium import spaces
from pydantic import BaseModel, ConfigDict

from proctor import BatchEnv, Env, Step, Suite, SuiteOptions
from proctor.suites import find_suite
from proctor.testing import SuiteConformance


class Pond(Env):
    observation_space, action_space = spaces.Box(-1, 1, (2,)), spaces.Discrete(3)

    def reset(self, seed, index):
        return np.zeros(2, np.float32)

    def step(self, action):
        return Step(np.zeros(2, np.float32), 0.0, False, False, False)


class Ponds(BatchEnv):
    observation_space, action_space = Pond.observation_space, Pond.action_space

    def __init__(self, worlds):
        self.num_worlds = worlds

    def reset(self, worlds, seeds, indices):
        return [np.zeros(2, np.float32) for _ in worlds]

    def step(self, actions):
        return {world: Pond().step(action) for world, action in actions.items()}


class Water(Suite):
    name: ClassVar[str] = "water"

    class Options(SuiteOptions):
        depth: float = 1.0
        batch: bool = False

    def task_name(self, options):
        return f"pond-{options.depth:g}"

    def is_batch(self, options):
        return options.batch

    def make(self, options, *, render, worlds):
        return Ponds(worlds) if options.batch else Pond()


class TestWater(SuiteConformance):
    def make(self):
        return Water()


class TestDeepWater(TestWater):
    options: ClassVar[dict[str, Any]] = {"depth": 3.0, "batch": True}


class TestGymnasium(SuiteConformance):
    options: ClassVar[dict[str, Any]] = {"id": "CartPole-v1"}

    def make(self):
        return find_suite("gymnasium")


class Nameless(Water):
    name = ""


class OddNeeds(Water):
    def needs(self):
        return ["mujoco"]


class Remembers(Water):
    def make(self, options, **_):
        self.made = 1
        return Pond()


class Loose(Water):
    class Options(SuiteOptions):
        model_config = ConfigDict(extra="ignore")


class Thawed(Water):
    class Options(SuiteOptions):
        model_config = ConfigDict(frozen=False)


class Foreign(Water):
    class Options(BaseModel):
        depth: float = 1.0
        batch: bool = False


class SlashName(Water):
    def task_name(self, options):
        return "water/pond"


class RandomName(Water):
    def task_name(self, options):
        return f"pond-{np.random.default_rng().integers(10**9)}"


class NoTasks(Water):
    def expand(self, options):
        return []


class Growing(Water):
    def expand(self, options):
        return [{"depth": 1.0}, {"depth": 2.0}]


class NoTrials(Water):
    def default_trials(self, options):
        return 0


class OtherSeeds(Water):
    def trial_seeds(self, options, n):
        return range(n, 2 * n)


class TwiceTheSeed(Water):
    def trial_seeds(self, options, n):
        return [4] * n


class NegativeSeeds(Water):
    def trial_seeds(self, options, n):
        return range(-1, n - 1)


class SometimesSeeds(Water):
    def trial_seeds(self, options, n):
        return None if n > 4 else range(n)


class FewSeeds(Water):
    def trial_seeds(self, options, n):
        return range(2)


class Numbered(Water):
    def begins_by_seed(self, options):
        return True

    def make(self, options, **_):
        env = Pond()
        env.reset = lambda seed, index: np.full(2, index / 10, np.float32)
        return env


class SaysBatch(Water):
    def is_batch(self, options):
        return True


class TooMany(Water):
    def is_batch(self, options):
        return True

    def make(self, options, **_):
        return Ponds(99)


class OtherSpaces(Water):
    sizes = iter(range(1, 99))

    def make(self, options, **_):
        env = Pond()
        env.action_space = spaces.Discrete(next(self.sizes))
        return env


@pytest.mark.parametrize(
    ("broken", "law", "message"),
    [
        (Nameless, "test_declares_itself", "name is empty"),
        (OddNeeds, "test_declares_itself", "needs has 'mujoco'; expected pairs"),
        (Remembers, "test_has_no_state", "the suite keeps made on itself"),
        (Loose, "test_options_are_frozen_data", "takes unknown keys: a misspelt option would be ignored"),
        (Thawed, "test_options_are_frozen_data", "is not frozen"),
        (Foreign, "test_options_are_frozen_data", "no subclass of SuiteOptions"),
        (SlashName, "test_a_task_has_a_name_of_its_own", "gave 'water/pond'; expected a name without"),
        (RandomName, "test_a_task_has_a_name_of_its_own", "another name when it is asked again"),
        (NoTasks, "test_a_group_of_tasks_is_written_out_once", "no task for these options"),
        (Growing, "test_a_group_of_tasks_is_written_out_once", "2 tasks for one that it had written out"),
        (NoTrials, "test_default_trials_are_a_count", "gave 0; expected None or at least 1"),
        (OtherSeeds, "test_seeds_of_a_protocol_stay_when_trials_are_added", "other seeds when more are planned"),
        (TwiceTheSeed, "test_seeds_of_a_protocol_stay_when_trials_are_added", "gives a seed twice"),
        (NegativeSeeds, "test_seeds_of_a_protocol_stay_when_trials_are_added", "not from 0 to"),
        (SometimesSeeds, "test_seeds_of_a_protocol_stay_when_trials_are_added", "none for others"),
        (FewSeeds, "test_seeds_of_a_protocol_stay_when_trials_are_added", "gave 2 and 2 seeds for 2 and 5 trials"),
        (Numbered, "test_an_index_decides_nothing_where_the_seed_does", "another index begins another trial"),
        (SaysBatch, "test_makes_what_it_says", "make gave a Pond; is_batch says that it gives a BatchEnv"),
        (TooMany, "test_makes_what_it_says", "2 worlds were allowed, and 99 were made"),
        (OtherSpaces, "test_the_same_options_make_the_same_spaces", "have different action_spaces"),
    ],
)
def test_a_broken_suite_is_found(broken, law, message):
    class Laws(SuiteConformance):
        def make(self):
            return broken()

    with pytest.raises(AssertionError, match=message):
        getattr(Laws(), law)()


def test_options_that_are_missing_are_asked_for():
    class Laws(TestGymnasium):
        options: ClassVar[dict[str, Any]] = {}

    with pytest.raises(AssertionError, match="set `options` to those of a task"):
        Laws().test_makes_what_it_says()
