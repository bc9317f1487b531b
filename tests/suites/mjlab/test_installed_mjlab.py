"""The adapter on the real package, in the interpreter that `PROCTOR_MJLAB_PYTHON` names: the laws of environments, and
what a world of many has in common with one alone, to the byte."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from mjlab_child import Remote

from proctor.suites.mjlab.suite import MjlabOptions
from proctor.suites.protocol import BatchEnv, ColumnEnv, Columns, Env, Step
from proctor.testing import BatchEnvConformance, EnvConformance

PYTHON = os.environ.get("PROCTOR_MJLAB_PYTHON")
CARTPOLE, LIFT = "Mjlab-Cartpole-Balance", "Mjlab-Lift-Cube-Yam"
GO1, G1 = "Mjlab-Velocity-Flat-Unitree-Go1", "Mjlab-Velocity-Flat-Unitree-G1"

pytestmark = [
    pytest.mark.skipif(PYTHON is None, reason="PROCTOR_MJLAB_PYTHON names no interpreter that has mjlab"),
    pytest.mark.timeout(900),  # the first run on a machine compiles kernels
]

CHILD: list[Remote] = []


@pytest.fixture(autouse=True, scope="module")
def child() -> Iterator[None]:
    if PYTHON is not None:
        CHILD.append(Remote(PYTHON))
    yield
    while CHILD:
        CHILD.pop().close()


def box(shape: tuple[int, ...]) -> spaces.Box:
    return spaces.Box(-np.inf, np.inf, shape, np.float32)


class There:
    """What both kinds of environments there have in common."""

    def __init__(self, *, worlds: int = 1, render: bool = False, **options: Any):
        given = MjlabOptions.model_validate(options).model_dump(mode="json")
        self._handle, facts = CHILD[0].call(None, "make", given, render, worlds)
        observed: dict[Any, Any] = {name: box(shape) for name, shape in facts["observed"].items()}
        self.observation_space: Any = observed[None] if None in observed else spaces.Dict(observed)
        self.action_space = box(facts["acted"])
        self.action_dt_s, self.max_steps, self.num_worlds = facts["dt"], facts["limit"], facts["worlds"]

    def ask(self, method: str, *args: Any) -> Any:
        return CHILD[0].call(self._handle, method, *args)

    def close(self) -> None:
        self.ask("close")


class One(There, Env):
    def reset(self, seed: int, index: int) -> Any:
        return self.ask("reset", seed, index)

    def step(self, action: Any) -> Step:
        return Step(*self.ask("step", action))


class Many(There, ColumnEnv):
    def __init__(self, worlds: int, **options: Any):
        super().__init__(worlds=worlds, batch=True, **options)

    def reset(self, worlds: Any, seeds: Any, indices: Any) -> list[Any]:
        return self.ask("reset", list(worlds), list(seeds), list(indices))

    def step(self, actions: Any) -> dict[int, Step]:
        return {world: Step(*step) for world, step in self.ask("step", dict(actions)).items()}

    def render(self, world: int) -> np.ndarray:
        return self.ask("render", world)

    def step_columns(self, worlds: Any, actions: np.ndarray) -> Columns:
        return Columns(*self.ask("step_columns", worlds, actions))


class TestOneWorld(EnvConformance):
    steps = 5

    def make(self) -> Env:
        return One(task=CARTPOLE)


class TestOneWorldAsInTraining(EnvConformance):
    steps = 5

    def make(self) -> Env:
        return One(task=CARTPOLE, play=False, episode_length_s=0.2)


class TestManyWorlds(BatchEnvConformance):
    steps = 5

    def make(self) -> BatchEnv:
        return Many(3, task=CARTPOLE)


def rolled(env: Env, seed: int, steps: int) -> list[bytes]:
    """An episode with random actions, as bytes."""
    rng = np.random.default_rng(seed)
    seen = [env.reset(seed, 0).tobytes()]
    for _ in range(steps):
        step = env.step(rng.standard_normal(env.action_space.shape or (), np.float32))
        seen.append(as_bytes(step))
        if step.terminated or step.truncated:
            break
    return seen


def rolled_together(env: Many, seeds: dict[int, int], steps: int) -> dict[int, list[bytes]]:
    """The same in many worlds; one that ends begins again with another seed, and is not looked at any longer."""
    rngs = {world: np.random.default_rng(seed) for world, seed in seeds.items()}
    first = env.reset(list(seeds), list(seeds.values()), [0] * len(seeds))
    seen = {world: [observation.tobytes()] for world, observation in zip(seeds, first, strict=True)}
    ended: set[int] = set()
    for _ in range(steps):
        shape = env.action_space.shape or ()
        for world, step in env.step({w: rng.standard_normal(shape, np.float32) for w, rng in rngs.items()}).items():
            if world not in ended:
                seen[world].append(as_bytes(step))
            if step.terminated or step.truncated:
                ended.add(world)
                env.reset([world], [1000 + world], [0])
    return seen


def as_bytes(step: Step) -> bytes:
    values = [step.observation, step.reward, step.terminated, step.truncated, *step.signals.values()]
    return b"".join(np.asarray(value).tobytes() for value in values)


def test_a_quadruped_among_others_walks_as_it_does_alone() -> None:
    """Random starts, friction and masses, commands that change on the way, and neighbours that fall and start again."""
    options = {"task": GO1, "overrides": {"commands.twist.resampling_time_range": [0.1, 0.2]}}
    alone, steps = One(**options), 30
    expected = {seed: rolled(alone, seed, steps) for seed in (3, 4)}
    assert expected[3][0] != expected[4][0]
    assert rolled(alone, 3, steps) == expected[3]
    seen = rolled_together(Many(4, **options), {0: 11, 1: 4, 2: 12, 3: 3}, steps)
    assert (seen[3], seen[1]) == (expected[3], expected[4])
    other = rolled_together(Many(3, **options), {0: 3, 1: 13, 2: 14}, steps)
    assert other[0] == expected[3]


def test_a_humanoid_among_others_does_as_it_does_alone() -> None:
    """Its constraints are sparse, and summed in parts."""
    expected = rolled(One(task=G1), 3, 15)
    assert rolled_together(Many(3, task=G1), {0: 11, 1: 12, 2: 3}, 15)[2] == expected


def test_a_trial_as_in_training_repeats() -> None:
    """Noise and pushes draw at every step."""
    env = One(task=GO1, play=False, overrides={"events.push_robot.interval_range_s": [0.05, 0.1]})
    first = rolled(env, 5, 15)
    rolled(env, 6, 5)
    assert rolled(env, 5, 15) == first


def test_the_last_observation_is_the_terminal_one() -> None:
    """Between the last two steps the pole moves as between any two; a reset would put it upright again."""
    env = One(task="Mjlab-Cartpole-Swingup", episode_length_s=0.5, observations=["critic"])
    assert env.max_steps == 10
    first = env.reset(0, 0)
    steps = [env.step(np.ones(1, np.float32)) for _ in range(10)]
    assert [step.truncated for step in steps] == [False] * 9 + [True]
    carts = [first[0], *(step.observation[0] for step in steps)]
    assert (np.diff(carts[1:]) > 0).all()
    assert carts[-1] > 2 * carts[5] > 0
    assert abs(env.reset(0, 0)[0]) < 1e-6


def test_signals_of_a_robot_with_legs() -> None:
    env = One(task=GO1)
    env.reset(0, 0)
    step = env.step(np.zeros(12, np.float32))
    rewards = [value for name, value in step.signals.items() if name.startswith("reward/")]
    assert sum(map(float, rewards)) == pytest.approx(step.reward, rel=1e-4)
    assert step.signals["command/twist"].shape == (3,)
    assert 0.2 < step.signals["root/height_m"] < 0.5
    assert step.signals["root/linear_velocity_m_s"].shape == (3,)
    assert not step.signals["termination/fell_over"]


def test_noise_for_all_worlds_is_refused() -> None:
    with pytest.raises(RuntimeError, match=r"InputError: batch: events.push_robot, observations.actor.terms.base_lin"):
        Many(2, task=GO1, play=False)


def test_a_task_that_follows_a_motion_asks_for_it() -> None:
    with pytest.raises(RuntimeError, match=r'none is named; expected overrides: {"commands.motion.motion_file": FILE'):
        One(task="Mjlab-Tracking-Flat-Unitree-G1")


def test_lifting_knows_success() -> None:
    env = One(task=LIFT, success="command")
    env.reset(0, 0)
    assert env.step(np.zeros(env.action_space.shape or (), np.float32)).success is False
    with pytest.raises(RuntimeError, match="no command of this task says what success is"):
        One(task=GO1, success="command")


def test_frames_show_the_world_that_was_asked_for() -> None:
    try:
        env = Many(2, task=CARTPOLE, render=True)
    except RuntimeError as error:
        pytest.skip(f"no frames here: {error}")
    env.reset([0, 1], [0, 1], [0, 0])
    env.step({0: np.full(1, 5, np.float32), 1: np.full(1, -5, np.float32)})
    first, second = env.render(0), env.render(1)
    assert first.shape == (240, 320, 3)
    assert first.dtype == np.uint8
    assert (first != second).any()
