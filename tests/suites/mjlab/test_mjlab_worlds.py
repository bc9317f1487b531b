"""The adapter on a double of mjlab's environment, whose ways were learnt from the real one."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import mjlab_double
import numpy as np
import pytest

from proctor.errors import InputError
from proctor.suites.mjlab.suite import MjlabOptions, MjlabSuite
from proctor.suites.mjlab.worlds import MjlabEnv, MjlabWorlds
from proctor.suites.protocol import DeviceEnv, Step
from proctor.testing import BatchEnvConformance, EnvConformance, SuiteConformance

TASK = "Double-Point"
RIGHT = np.ones(1, np.float32)


@pytest.fixture(autouse=True)
def double() -> Iterator[None]:
    with mjlab_double.installed():
        yield


def make(worlds: int | None = None, *, render: bool = False, **options: Any) -> Any:
    """One world, or so many in a batch."""
    given = MjlabOptions.model_validate({"task": TASK, "batch": worlds is not None, **options})
    return MjlabSuite().make(given, render=render, worlds=worlds or 1)


class TestSuite(SuiteConformance):
    options = {"task": TASK}  # noqa: RUF012 - as the base says

    def make(self) -> MjlabSuite:
        return MjlabSuite()


class TestBatchSuite(TestSuite):
    options = {"task": TASK, "batch": True, "success": "command"}  # noqa: RUF012


class TestOneWorld(EnvConformance):
    def make(self) -> MjlabEnv:
        return make()


class TestOneWorldAsInTraining(EnvConformance):
    """With noise, pushes and an end after a second."""

    def make(self) -> MjlabEnv:
        return make(play=False)


class TestManyWorlds(BatchEnvConformance):
    def make(self) -> MjlabWorlds:
        return make(3)


class TestManyWorldsOfADevice(BatchEnvConformance):
    def make(self) -> MjlabWorlds:
        return make(3, exact=False)


class TestManyWorldsWithGroups(BatchEnvConformance):
    def make(self) -> MjlabWorlds:
        return make(2, observations=["actor", "critic"], success="command")


def steps_of(env: MjlabEnv, seed: int, count: int) -> list[Step]:
    env.reset(seed, 0)
    return [env.step(RIGHT) for _ in range(count)]


def test_a_world_of_many_has_the_episode_of_one_alone() -> None:
    """Commands that are chosen anew on the way included."""
    alone = make()
    with contextlib.closing(make(4)) as env:
        env.reset([0, 1, 2, 3], [5, 6, 7, 8], [0, 0, 0, 0])
        together = [env.step(dict.fromkeys(range(4), RIGHT)) for _ in range(20)]
    for world, seed in enumerate((5, 6, 7, 8)):
        for one, many in zip(steps_of(alone, seed, 20), together, strict=True):
            assert one.observation.tobytes() == many[world].observation.tobytes()
            assert one.reward == many[world].reward
    targets = {step[0].signals["command/target"].item() for step in together}
    assert len(targets) > 3


def test_the_last_observation_is_the_terminal_one() -> None:
    """And not that of a world that has been reset, which would be near the origin."""
    env = make(episode_length_s=100)
    env.reset(0, 0)
    last = next(step for step in iter(lambda: env.step(4 * RIGHT), None) if step.terminated)
    assert last.observation[0] > mjlab_double.FAR
    assert not last.truncated
    assert last.signals["termination/far"]
    assert env.reset(1, 0)[0] < 0.2


def test_the_time_limit_truncates() -> None:
    env = make()
    assert (env.max_steps, env.action_dt_s) == (20, mjlab_double.DT)
    steps = steps_of(env, 0, 20)
    assert [step.truncated for step in steps] == [False] * 19 + [True]
    assert make(episode_length_s=0.5).max_steps == 10


def test_an_ended_world_holds_up_no_other_and_takes_no_action() -> None:
    with contextlib.closing(make(2, episode_length_s=100)) as env:
        env.reset([0, 1], [0, 1], [0, 0])
        while not env.step({0: 4 * RIGHT, 1: 0 * RIGHT})[0].terminated:
            pass
        assert not env.step({1: RIGHT})[1].terminated
        env.reset([0], [3], [0])
        while not env.step({0: 4 * RIGHT, 1: 0 * RIGHT})[0].terminated:
            pass
        with pytest.raises(ValueError, match="world 0 has ended and got an action; reset it first"):
            env.step({0: RIGHT, 1: RIGHT})


def test_rewards_are_recorded_by_term() -> None:
    step = steps_of(make(), 0, 3)[-1]
    assert step.reward == pytest.approx(step.signals["reward/near"] + step.signals["reward/highest"], rel=1e-5)
    assert set(steps_of(make(signals=["commands"]), 0, 1)[0].signals) == {"command/target"}


def test_what_the_task_measures_of_itself_is_recorded() -> None:
    assert steps_of(make(), 0, 2)[-1].signals["metric/speed"] == pytest.approx(1.0)


def test_it_tells_of_the_terms_of_an_observation_that_is_one_array() -> None:
    env = make(2)
    assert [(term["name"], term["size"], term["history"]) for term in env.briefing["terms"]] == [
        ("x", 1, 0),
        ("target", 1, 0),
    ]
    assert "robot" not in env.briefing
    assert make(observations=["critic"]).briefing == make(observations=["actor", "critic"]).briefing == {}


def test_worlds_of_a_device_are_the_columns_they_are_elsewhere() -> None:
    """Where a world ends and nobody begins another trial in it, the others go on as they would."""
    torch = mjlab_double.torch
    there, here = make(3, exact=False, episode_length_s=100), make(3, episode_length_s=100)
    assert isinstance(there, DeviceEnv)
    assert not isinstance(here, DeviceEnv)
    assert there.device == "cpu"
    rows = np.arange(3)
    seen = there.begin_device(rows, [5, 6, 7], [0, 0, 0])
    assert np.array_equal(seen.numpy(), np.stack(here.reset(rows, [5, 6, 7], [0, 0, 0])))
    actions, ended = np.array([[4.0], [1.0], [-1.0]], np.float32), False
    for _ in range(25):
        columns = there.step_device(torch.from_numpy(actions))
        used = np.array([1, 2]) if ended else rows
        expected = here.step_columns(used, actions[used])
        for mine, theirs in zip(columns[:5], expected[:5], strict=True):
            assert isinstance(mine, torch.Tensor)
            assert np.array_equal(mine.numpy()[used], theirs)
        for name, theirs in expected.signals.items():
            assert np.array_equal(columns.signals[name].numpy()[used], theirs), name
        ended = ended or bool(columns.terminated[0])
    assert ended
    again = there.begin_device(np.array([0]), [9], [0])
    assert np.array_equal(again.numpy()[0], here.reset([0], [9], [0])[0])


def test_a_reward_with_a_memory_forgets_the_trial_before() -> None:
    env = make(episode_length_s=100)
    first = steps_of(env, 4, 1)[0]
    steps_of(env, 5, 15)
    assert steps_of(env, 4, 1)[0].signals["reward/highest"] == first.signals["reward/highest"]


def test_domain_randomisation_belongs_to_the_trial() -> None:
    env = make(observations=["critic"])
    first, second, again = (env.reset(seed, 0)["friction"].item() for seed in (1, 2, 1))
    assert first == again != second


def test_success_is_what_the_command_says_or_survival() -> None:
    held = steps_of(make(success="command"), 0, 20)
    near = [bool(abs(step.observation[0] - step.observation[1]) < 0.1) for step in held]
    assert [step.success for step in held] == near
    assert {True, False} == set(near)
    env = make(success="survived", episode_length_s=100)
    env.reset(0, 0)
    steps = [env.step(4 * RIGHT)]
    while not steps[-1].terminated:
        steps.append(env.step(4 * RIGHT))
    assert [step.success for step in steps] == [True] * (len(steps) - 1) + [False]
    assert env.success_known()
    assert not make().success_known()


def test_observation_groups_become_arrays_by_name() -> None:
    first = make(observations=["actor", "critic"]).reset(0, 0)
    assert {name: value.shape for name, value in first.items()} == {
        "actor": (2,),
        "critic/x": (1,),
        "critic/friction": (1,),
    }
    assert set(make(observations=["critic"]).reset(0, 0)) == {"x", "friction"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"task": "Double-Pint"}, 'mjlab has no task "Double-Pint"; did you mean "Double-Point"?'),
        ({"task": "Walk"}, 'mjlab has no task "Walk"; there are Double-Point'),
        ({"observations": ["policy"]}, 'no observation group "policy"; it has actor, critic'),
        ({"overrides": {"events.shove": None}}, 'overrides.events.shove: "events" has no "shove"'),
    ],
)
def test_what_the_task_does_not_have_is_named(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as caught:
        make(**options)
    assert said in str(caught.value)


def test_worlds_that_draw_together_are_refused() -> None:
    with pytest.raises(InputError, match=r"batch: events.push, observations.actor.terms.x.noise draw random numbers"):
        make(2, play=False)
    make(2, play=False, overrides={"events.push": None, "observations.actor.enable_corruption": False})
    assert make(1, play=False).num_worlds == 1


def test_a_draw_that_nobody_foresaw_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def shaky(env: Any) -> Any:
        return mjlab_double.torch.rand(env.num_envs)

    monkeypatch.setattr(mjlab_double, "near", shaky)
    with mjlab_double.installed():
        make()
        with pytest.raises(InputError, match="draws random numbers for all worlds at once in a step"):
            make(2)


def test_generated_terrain_and_many_worlds_need_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    hilly = SimpleNamespace(terrain_generator=object(), env_spacing=1.0)
    monkeypatch.setattr(mjlab_double, "config", lambda play, flat=mjlab_double.config: with_terrain(flat(play), hilly))
    with mjlab_double.installed():
        with pytest.raises(InputError, match=r"batch: on generated terrain .*; use batch: false, or exact: false"):
            make(2)
        assert make().worlds.num_worlds == 1
        assert make(2, exact=False).num_worlds == 2


def with_terrain(config: Any, terrain: Any) -> Any:
    config.scene.terrain = terrain
    return config


def test_another_simulator_than_the_known_one_runs_no_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(mjlab_double.SOLVER, "_jtdaj_groups_per_world")
    with pytest.raises(InputError, match=r"made for MuJoCo Warp 3.11, and found this one; use batch: false"):
        make(2)


def test_frames_show_the_world_that_was_asked_for() -> None:
    with contextlib.closing(make(2, render=True, episode_length_s=100)) as env:
        env.reset([0, 1], [0, 1], [0, 0])
        for _ in range(5):
            env.step({0: RIGHT, 1: -3 * RIGHT})
        assert env.render(0).shape == (4, 6, 3)
        assert (env.render(0) != env.render(1)).all()
    with pytest.raises(InputError, match="made without frames"):
        make().render()


def test_global_generators_are_left_alone() -> None:
    torch = mjlab_double.torch
    torch.manual_seed(3)
    expected = torch.rand(4)
    torch.manual_seed(3)
    steps_of(make(play=False), 0, 5)
    assert torch.equal(torch.rand(4), expected)
