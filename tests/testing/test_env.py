"""Each law of EnvConformance and BatchEnvConformance finds what breaks it."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium import spaces

from proctor.suites.protocol import BatchEnv, ColumnEnv, Columns, Env, SheetEnv, Step
from proctor.testing import BatchEnvConformance, EnvConformance
from proctor_host.sheet import Sheet


class Walk(Env):
    """A seeded random walk that ends after twelve steps."""

    observation_space = spaces.Box(-np.inf, np.inf, (2,), np.float64)
    action_space = spaces.Box(-1, 1, (2,))
    max_steps = 12
    action_dt_s = 0.1

    def reset(self, seed, index):
        self.rng, self.count = np.random.default_rng([seed, index]), 0
        self.place = self.rng.standard_normal(2)
        return self.place.copy()

    def step(self, action):
        self.count += 1
        self.place = self.place + action + 0.1 * self.rng.standard_normal(2)
        done = self.count >= self.max_steps
        return Step(
            self.place.copy(),
            float(-np.abs(self.place).sum()),
            False,
            done,
            False,
            {"speed": float(action[0])},
        )


class TestWalk(EnvConformance):
    def make(self):
        return Walk()


class GlobalNoise(Walk):
    def reset(self, seed, index):
        return super().reset(seed, index) + np.random.random()  # noqa: NPY002 - the fault under test


class CarriedOver(Walk):
    offset = 0.0

    def reset(self, seed, index):
        self.offset += 1.0
        return super().reset(seed, index) + self.offset


class WrongShape(Walk):
    def reset(self, seed, index):
        return super().reset(seed, index)[:1]


class WrongDtype(Walk):
    observation_space = spaces.Box(0, 255, (2,), np.uint8)


class NoStep(Walk):
    def step(self, action):
        return tuple(super().step(action))


class Infinite(Walk):
    def step(self, action):
        return super().step(action)._replace(reward=float("inf"))


class IntFlag(Walk):
    def step(self, action):
        return super().step(action)._replace(success=1)


class ReservedSignal(Walk):
    def step(self, action):
        return super().step(action)._replace(signals={"rewards": 1.0})


class TextSignal(Walk):
    def step(self, action):
        return super().step(action)._replace(signals={"phase": "lift"})


class FlickeringSignal(Walk):
    def step(self, action):
        step = super().step(action)
        return step._replace(signals={} if self.count == 2 else step.signals)


class ChangesActions(Walk):
    def step(self, action):
        action *= 0.5
        return super().step(action)


class ClosesOnce(Walk):
    closed = False

    def close(self):
        assert not self.closed, "closed before"
        self.closed = True


class BadDummy(Walk):
    def dummy_action(self):
        return np.full(2, 9.0, np.float32)


class Retyped(Walk):
    """A signal that is a float in one step and a whole number in another."""

    def step(self, action):
        return super().step(action)._replace(signals={"speed": 1 if self.count == 2 else 1.0})


class RetypedLater(Walk):
    """A signal whose dtype depends on the episode."""

    def reset(self, seed, index):
        self.kind = np.float32 if seed else np.float64
        return super().reset(seed, index)

    def step(self, action):
        return super().step(action)._replace(signals={"speed": self.kind(1)})


class RetypedFirst(Walk):
    def reset(self, seed, index):
        return super().reset(seed, index).astype(np.float32)


class OtherConstants(Walk):
    made = 0

    def reset(self, seed, index):
        OtherConstants.made += 1
        return super().reset(seed, index)

    def constants(self):
        return {"goal": np.float64(self.made)}


class Rows(SheetEnv):
    """A walk that writes rows, with a signal of every kind."""

    observation_space, action_space = Walk.observation_space, Walk.action_space
    sheet = Sheet(
        {(): ((2,), np.float64)}, {"age": ((), np.int64), "pair": ((2,), np.float32), "cost": ((), np.float32)}
    )

    def __init__(self):
        self.walk = Walk()

    def reset(self, seed, index):
        return self.walk.reset(seed, index)

    def write(self, action, row):
        step = self.walk.step(action)
        row[:] = [
            *step[1:5],
            *step.observation,
            self.walk.count,
            *np.float32(step.observation),
            np.float32(step.reward),
        ]


class TestRows(EnvConformance):
    def make(self):
        return Rows()


class RowsInDoublePrecision(Rows):
    """A float32 scalar that `step` gives as a Python float, which a record holds as float64."""

    sheet = Sheet({(): ((2,), np.float64)}, {"speed": ((), np.float32)})

    def write(self, action, row):
        step = self.walk.step(action)
        row[:] = [*step[1:5], *step.observation, np.float32(step.signals["speed"])]

    def step(self, action):
        rows = self.sheet.rows(1)
        self.write(action, rows[0])
        reward, *flags = rows[0, :4].tolist()
        return Step(self.observed(rows), reward, *map(bool, flags), {"speed": float(rows[0, -1])})


class RowsWithOtherValues(Rows):
    def step(self, action):
        step = super().step(action)
        return step._replace(signals={**step.signals, "age": step.signals["age"] + 1})


class RowsWithOtherRewards(Rows):
    def step(self, action):
        return super().step(action)._replace(reward=0.0)


FORMED = "test_observations_and_steps_are_well_formed"
KINDS, AGREE = "test_every_episode_records_the_same_kinds", "test_rows_and_steps_agree"


@pytest.mark.parametrize(
    ("broken", "law", "message"),
    [
        (
            GlobalNoise,
            "test_same_seed_and_index_give_the_same_episode_in_a_fresh_environment",
            "global generator matters",
        ),
        (
            CarriedOver,
            "test_same_seed_and_index_give_the_same_episode_in_a_used_environment",
            "differ at step 0",
        ),
        (WrongShape, FORMED, r"shape \(1,\); its space says \(2,\)"),
        (WrongDtype, FORMED, "does not cast to uint8"),
        (NoStep, FORMED, "expected proctor.Step"),
        (Infinite, FORMED, "reward is inf"),
        (IntFlag, FORMED, "success is a int; expected a bool"),
        (ReservedSignal, FORMED, "which the record uses itself"),
        (TextSignal, FORMED, "expected numbers"),
        (FlickeringSignal, FORMED, 'step 2.signals has no "speed", which step 1 has'),
        (Retyped, FORMED, r'step 2.signals "speed" is int64 \(\); step 1 has float64 \(\)'),
        (RetypedLater, KINDS, r'second episode\'s signals "speed" is float32 \(\); the first has float64'),
        (RetypedFirst, KINDS, r"after a step is float64 \(2,\); the first observation has float32"),
        (OtherConstants, "test_same_seed_and_index_give_the_same_episode_in_a_fresh_environment", "differ at step 0"),
        (RowsInDoublePrecision, AGREE, r'signals of step "speed" is float64 \(\); the row of write has float32 \(\)'),
        (RowsWithOtherValues, AGREE, "step 1: step and write give different signals"),
        (RowsWithOtherRewards, AGREE, "write gave reward and flags .*, step gave"),
        (ChangesActions, "test_actions_are_not_changed", "step changed the action"),
        (BadDummy, "test_dummy_action_is_valid", r"dummy_action\(\) is not in Box"),
        (ClosesOnce, "test_can_be_closed_twice", "closed before"),
    ],
)
def test_a_broken_environment_is_found(broken, law, message):
    class Suite(EnvConformance):
        def make(self):
            return broken()

    suite = Suite()
    if broken is NoStep:
        suite._play = lambda env, seed, index: (env.reset(seed, index), [env.step(np.zeros(2))])
    with pytest.raises(AssertionError, match=message):
        getattr(suite, law)()


class Walks(BatchEnv):
    """Three walks."""

    observation_space, action_space, num_worlds = Walk.observation_space, Walk.action_space, 3

    def __init__(self):
        self.worlds = [Walk() for _ in range(3)]

    def reset(self, worlds, seeds, indices):
        return [self.worlds[w].reset(s, i) for w, s, i in zip(worlds, seeds, indices, strict=True)]

    def step(self, actions):
        return {world: self.worlds[world].step(action) for world, action in actions.items()}


class TestWalks(BatchEnvConformance):
    def make(self):
        return Walks()


class SharedNoise(Walks):
    """One generator, in the order of the worlds asked."""

    def reset(self, worlds, seeds, indices):
        first = super().reset(worlds, seeds, indices)
        for world in worlds:
            self.worlds[world].rng = self.worlds[worlds[-1]].rng
        return first


class ByWorld(Walks):
    def reset(self, worlds, seeds, indices):
        return super().reset(worlds, [s + 100 * w for s, w in zip(seeds, worlds, strict=True)], indices)


class ResetsAll(Walks):
    def reset(self, worlds, seeds, indices):
        for other in range(3):
            self.worlds[other].reset(seeds[0], indices[0])
        return super().reset(worlds, seeds, indices)


class AnswersAll(Walks):
    def step(self, actions):
        return super().step({w: actions.get(w, np.zeros(2, np.float32)) for w in range(3)})


class Ageing(Walks):
    age = 0.0

    def reset(self, worlds, seeds, indices):
        self.age += 1
        return [o + self.age for o in super().reset(worlds, seeds, indices)]


COLUMNS = "test_columns_and_steps_agree"


class RetypedWorld(Walks):
    def step(self, actions):
        found = super().step(actions)
        return {world: step._replace(signals={"speed": 1 if world == 2 else 1.0}) for world, step in found.items()}


class WalkColumns(ColumnEnv):
    """Three walks in columns."""

    observation_space, action_space, num_worlds = Walk.observation_space, Walk.action_space, 3

    def __init__(self):
        self.worlds = [Walk() for _ in range(3)]

    def reset(self, worlds, seeds, indices):
        return [self.worlds[w].reset(s, i) for w, s, i in zip(worlds, seeds, indices, strict=True)]

    def step_columns(self, worlds, actions):
        order = range(3) if worlds is None else worlds
        steps = [self.worlds[world].step(action) for world, action in zip(order, actions, strict=True)]
        columns = [np.array(column) for column in list(zip(*steps, strict=True))[:5]]
        return Columns(*columns, {"speed": np.float32([step.signals["speed"] for step in steps])})


class TestWalkColumns(BatchEnvConformance):
    def make(self):
        return WalkColumns()


class ColumnsInDoublePrecision(WalkColumns):
    def step(self, actions):
        found = super().step(actions)
        return {w: step._replace(signals={"speed": float(step.signals["speed"])}) for w, step in found.items()}


class ColumnsOfNumbers(WalkColumns):
    def step_columns(self, worlds, actions):
        found = super().step_columns(worlds, actions)
        return found._replace(success=found.success.astype(int))


class ColumnsWithOtherValues(WalkColumns):
    def step(self, actions):
        return {w: step._replace(reward=step.reward + 1) for w, step in super().step(actions).items()}


class Overwritten(WalkColumns):
    kept = None

    def step_columns(self, worlds, actions):
        found = super().step_columns(worlds, actions)
        if worlds is not None:
            return found
        self.kept = found if self.kept is None else self.kept
        for into, new in zip(self.kept[:5], found[:5], strict=True):
            into[:] = new
        return self.kept


@pytest.mark.parametrize(
    ("broken", "law", "message"),
    [
        (RetypedWorld, "test_worlds_and_steps_record_the_same_kinds", r'world 2: the signals "speed" is int64 \(\)'),
        (ColumnsInDoublePrecision, COLUMNS, r'signals "speed" is float64 \(\); step_columns has float32 \(\)'),
        (ColumnsOfNumbers, COLUMNS, "column success has dtype int64; expected bool"),
        (ColumnsWithOtherValues, COLUMNS, "world 0: step and step_columns give different values"),
        (Overwritten, "test_columns_are_not_overwritten_by_later_steps", "changed the arrays that an earlier one"),
        (
            SharedNoise,
            "test_a_world_s_episode_does_not_depend_on_its_neighbours",
            "world 0 has another episode",
        ),
        (ByWorld, "test_worlds_are_alike", "another episode in another world"),
        (ResetsAll, "test_resetting_one_world_leaves_the_others_alone", "changes another world's episode"),
        (
            AnswersAll,
            "test_answers_are_well_formed_and_for_the_worlds_asked",
            r"step worlds \[1, 2\], got \[0, 1, 2\]",
        ),
        (Ageing, "test_a_used_world_starts_afresh", r"in worlds \[0, 1, 2\]"),
    ],
)
def test_a_broken_batch_environment_is_found(broken, law, message):
    class Suite(BatchEnvConformance):
        def make(self):
            return broken()

    with pytest.raises(AssertionError, match=message):
        getattr(Suite(), law)()
