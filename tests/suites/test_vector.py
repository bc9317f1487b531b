"""Vector environments: the worlds of one equal as many environments run alone."""

from __future__ import annotations

from typing import Any, ClassVar

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv, VectorEnv

from proctor.errors import InputError
from proctor.suites.autoreset import HAS_MODES, AutoresetMode
from proctor.suites.gymnasium.options import GymnasiumOptions
from proctor.suites.gymnasium.vector import VectorEnvAdapter

ACTION = np.array([0.5], np.float32)
MODES = [AutoresetMode.DISABLED, AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP]
SIGNALS = {"count": "info.count", "v": "info.nested.vector"}


@pytest.fixture
def lend(toys):
    """A vector environment as a training loop would lend it, with worlds whose lengths follow from their
    seeds."""
    lent = []

    def make(mode: AutoresetMode, cls: Any = SyncVectorEnv, worlds: int = 3, **kwargs: Any) -> VectorEnv:
        if not HAS_MODES and mode is not AutoresetMode.NEXT_STEP:
            pytest.skip("Gymnasium 1.0 resets ended worlds on the next step")
        if HAS_MODES:
            kwargs["autoreset_mode"] = mode
        functions = [lambda: toys.Counter(length=None, render_mode="rgb_array")] * worlds
        lent.append(cls(functions, **kwargs))
        return lent[-1]

    yield make
    for vector in lent:
        vector.close()


def alone(env, seed: int):
    single = env(kwargs={"length": None}, signals=SIGNALS)
    steps = [None]
    first = single.reset(seed, 0)
    while steps[-1] is None or not steps[-1].terminated:
        steps.append(single.step(ACTION))
    return first, steps[1:]


def together(batch, seeds: list[int]):
    """Trials through the worlds of a batch environment, a world refilled as soon as its trial ends (or, where
    worlds cannot be reset one by one, when all have)."""
    waiting, running, done = list(seeds), {}, {}
    while waiting or running:
        free = [w for w in range(batch.num_worlds) if w not in running]
        if waiting and (batch.partial_reset or not running):
            worlds = free[: len(waiting)]
            mine, waiting = waiting[: len(worlds)], waiting[len(worlds) :]
            for world, seed, first in zip(worlds, mine, batch.reset(worlds, mine, [0] * len(mine)), strict=True):
                running[world], done[seed] = seed, (first, [])
        for world, step in batch.step(dict.fromkeys(running, ACTION)).items():
            done[running[world]][1].append(step)
            if step.terminated:
                del running[world]
    return done


def assert_same(left, right):
    np.testing.assert_array_equal(left[0], right[0])
    assert len(left[1]) == len(right[1])
    for a, b in zip(left[1], right[1], strict=True):
        np.testing.assert_array_equal(a.observation, b.observation)
        assert a[1:5] == b[1:5]
        assert a.signals.keys() == b.signals.keys()
        for name in a.signals:
            np.testing.assert_array_equal(a.signals[name], b.signals[name])


@pytest.mark.parametrize("mode", MODES, ids=lambda m: m.value)
@pytest.mark.parametrize("worlds", [1, 3, 8])
def test_trials_in_worlds_equal_trials_alone(env, lend, mode, worlds):
    batch = VectorEnvAdapter(lend(mode, worlds=worlds), options=GymnasiumOptions(id="lent", signals=SIGNALS))
    seeds = list(range(10, 22))
    done = together(batch, seeds)
    for seed in seeds:
        assert_same(done[seed], alone(env, seed))


@pytest.mark.parametrize("mode", MODES, ids=lambda m: m.value)
def test_the_same_in_processes(env, lend, mode):
    vector = lend(mode, AsyncVectorEnv, worlds=2)
    done = together(VectorEnvAdapter(vector, options=GymnasiumOptions(id="lent", signals=SIGNALS)), [3, 4, 5])
    for seed in (3, 4, 5):
        assert_same(done[seed], alone(env, seed))


def test_the_suite_makes_it(env):
    batch = env(vector=True, worlds=4, kwargs={"length": None}, signals=SIGNALS, wrappers=["toy_envs.py:Doubled"])
    assert (batch.num_worlds, batch.partial_reset, batch.max_steps, batch.action_dt_s) == (4, HAS_MODES, 50, 0.25)
    (_, steps) = together(batch, [5, 6, 7, 8, 9])[9]
    assert {s.reward for s in steps} == {1.0}


def test_idle_worlds_never_raise(lend):
    batch = VectorEnvAdapter(lend(AutoresetMode.DISABLED))
    batch.reset([1], [0], [0])
    for _ in range(30):
        if batch.step({1: ACTION})[1].terminated:
            batch.reset([1], [0], [0])


def test_an_ended_world_must_be_reset_before_it_is_used(lend):
    batch = VectorEnvAdapter(lend(AutoresetMode.DISABLED))
    batch.reset([0], [0], [0])
    while not batch.step({0: ACTION})[0].terminated:
        pass
    with pytest.raises(ValueError, match="world 0 has ended and got an action; reset it first"):
        batch.step({0: ACTION})


@pytest.mark.skipif(not HAS_MODES, reason="Gymnasium 1.0 resets all worlds together")
def test_numbered_initial_states_world_by_world(env):
    batch = env(vector=True, initial_states={"option": "state_index", "count": 4})
    first = batch.reset([2, 0, 1], [7, 8, 9], [5, 6, 3])
    assert [o[2] for o in first] == [1, 2, 3]


def test_success_and_signals_from_the_worlds_themselves(env):
    batch = env(vector=True, success={"function": "toy_envs.py:third_step"}, signals={"b": "env.buffer"})
    batch.reset([0, 2], [1, 2], [0, 0])
    flags = [batch.step({0: ACTION, 2: ACTION}) for _ in range(3)]
    assert [f[2].success for f in flags] == [False, False, True]
    assert [f[0].signals["b"][1] for f in flags] == [1, 2, 3]


def test_frames_of_one_world(lend):
    batch = VectorEnvAdapter(lend(AutoresetMode.NEXT_STEP))
    batch.reset([0, 1, 2], [0, 1, 2], [0] * 3)
    batch.step({1: ACTION})
    assert batch.render(1).shape == (4, 6, 3)


def test_a_frame_that_is_gone_is_not_replaced_by_another(lend):
    batch = VectorEnvAdapter(lend(AutoresetMode.SAME_STEP))
    batch.reset([0], [0], [0])
    while not batch.step({0: ACTION})[0].terminated:
        batch.render(0)
    with pytest.raises(InputError, match="world 0 was reset in the step that ended it, so its last frame is gone"):
        batch.render(0)


def test_a_lent_environment_is_given_back_open(lend):
    vector = lend(AutoresetMode.DISABLED)
    VectorEnvAdapter(vector).close()
    assert not vector.closed
    VectorEnvAdapter(vector, owned=True).close()
    assert vector.closed


def test_dict_and_tuple_observations_are_split():
    space = gymnasium.spaces.Dict({"a": gymnasium.spaces.Box(-1, 1, (2,)), "t": gymnasium.spaces.Tuple(
        [gymnasium.spaces.Discrete(3), gymnasium.spaces.Box(-1, 1, (1,))])})  # fmt: skip

    class Nested(gymnasium.Env):
        observation_space, action_space = space, gymnasium.spaces.Discrete(2)

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            self.observation_space.seed(seed)
            return self.observation_space.sample(), {}

        def step(self, action):
            return self.observation_space.sample(), 0.0, False, False, {}

    single = Nested()
    batch = VectorEnvAdapter(SyncVectorEnv([Nested] * 2))
    for seed, found in zip((4, 5), batch.reset([0, 1], [4, 5], [0, 0]), strict=True):
        wanted, _ = single.reset(seed=seed)
        np.testing.assert_array_equal(found["a"], wanted["a"])
        assert found["t"][0] == wanted["t"][0]
        np.testing.assert_array_equal(found["t"][1], wanted["t"][1])
    assert batch.step({1: 1})[1].observation["a"].shape == (2,)


class OneSeed(VectorEnv):
    """Takes one seed for all worlds and resets ended ones on the next step, like CartPole's own vector
    environment."""

    metadata: ClassVar[dict[str, Any]] = {"autoreset_mode": AutoresetMode.NEXT_STEP}
    num_envs = 3
    single_observation_space = gymnasium.spaces.Box(-1, 1, (1,))
    single_action_space = gymnasium.spaces.Box(-1, 1, (1,))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.np_random.uniform(size=(3, 1)), {"shared": 1.0, "each": np.arange(3.0)}

    def step(self, actions):
        zeros = np.zeros(3)
        return np.zeros((3, 1)), zeros, zeros > 0, zeros > 0, {"shared": 1.0, "each": np.arange(3.0)}


def test_one_seed_for_all_worlds_must_be_asked_for():
    with pytest.raises(InputError) as caught:
        VectorEnvAdapter(OneSeed()).reset([0], [1], [0])
    assert str(caught.value) == (
        "OneSeed does not take a seed for each world (Seed must be a python integer, actual type: <class 'list'>); "
        "use vector: {mode: sync}, or seeding: joint if a trial may depend on its neighbours"
    )
    options = GymnasiumOptions.model_validate(
        {"id": "x", "vector": {"seeding": "joint"}, "signals": {"s": "info.shared", "e": "info.each"}}
    )
    batch = VectorEnvAdapter(OneSeed(), options=options)
    assert not batch.partial_reset
    np.testing.assert_array_equal(batch.reset([0, 1], [5, 6], [0, 0]), batch.reset([0, 1], [5, 9], [0, 0]))
    assert batch.step({2: ACTION})[2].signals == {"s": 1.0, "e": 2.0}


@pytest.mark.parametrize(
    ("options", "mode", "text"),
    [
        ({"signals": {"b": "env.buffer"}}, AutoresetMode.SAME_STEP,
         "b: reads from the environment, but SyncVectorEnv resets an ended world at once; use info.KEY, or "
         "vector: {mode: sync}"),
        ({"initial_states": {"option": "s", "count": 2}, "vector": {"seeding": "joint"}}, AutoresetMode.DISABLED,
         "initial_states: SyncVectorEnv cannot reset one world at a time"),
    ],
)  # fmt: skip
def test_what_cannot_be_had_is_refused_at_once(lend, options, mode, text):
    with pytest.raises(InputError) as caught:
        VectorEnvAdapter(lend(mode), options=GymnasiumOptions.model_validate({"id": "x", **options}))
    assert str(caught.value) == text


def test_async_without_shared_memory_would_lose_the_seed(lend):
    with pytest.raises(InputError, match="would not start from its seed"):
        VectorEnvAdapter(lend(AutoresetMode.NEXT_STEP, AsyncVectorEnv, worlds=1, shared_memory=False))


@pytest.mark.skipif(not HAS_MODES, reason="in Gymnasium 1.0 there is one way")
def test_how_worlds_are_reset_must_be_known():
    class Silent(OneSeed):
        metadata: ClassVar[dict[str, Any]] = {}

    with pytest.raises(InputError) as caught:
        VectorEnvAdapter(Silent())
    assert str(caught.value) == (
        'Silent does not say how it resets ended worlds: metadata["autoreset_mode"] is None; '
        "give autoreset_mode (gymnasium.vector.AutoresetMode)"
    )
    assert not VectorEnvAdapter(Silent(), autoreset_mode=AutoresetMode.SAME_STEP).partial_reset
