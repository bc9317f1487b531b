"""The tracking worlds on MuJoCo Warp, on its processor device: the laws of an environment; the task that worlds on the
processor have; and what a world has to do with its neighbours, to the byte."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tracking_worlds import ALL_GROUPS, EVERYTHING_RANDOM, bytes_of, episode, g1, short_motions, wiggle

from proctor.testing import BatchEnvConformance

REASON = "worlds on a device need torch, MuJoCo Warp and Warp: make warp has them"
torch = pytest.importorskip("torch", reason=REASON)
pytest.importorskip("mujoco_warp", reason=REASON)

from device_worlds import both, device_env  # noqa: E402 - it needs them

from proctor.suites.tracking.device.warp import split_as_for_one_world  # noqa: E402 - likewise

pytestmark = pytest.mark.timeout(600)  # the first run on a machine compiles kernels

CLOSE = {"atol": 2e-3, "rtol": 2e-3}
"""Of observations after some steps of float32. Velocities are up to 20 rad/s."""


class TestConformance(BatchEnvConformance):
    steps = 4

    def make(self):
        return device_env(3, observations=ALL_GROUPS)


class TestConformanceRandomised(BatchEnvConformance):
    steps = 3

    def make(self):
        return device_env(2, **EVERYTHING_RANDOM, terminate={"far_m": 0.5})


def same(found: Any, expected: Any, **tolerance: float) -> None:
    """Dicts of arrays with equal keys and close values."""
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        np.testing.assert_allclose(found[name], values, err_msg=name, **(tolerance or CLOSE))


@pytest.mark.parametrize(
    "keys",
    [
        {"observations": ALL_GROUPS, "reference_offsets": [-1, 0, 1, 50], "terminate": {"far_m": 0.02}},
        {"observations": ALL_GROUPS, **EVERYTHING_RANDOM, "max_episode_length_s": 0.3},
        {"observations": ["state", "history_actor", "last_action"], "layout": "humanoidverse"},
        {"action": "absolute", "success": "phc_linf", "terminate": {"root_far_m": 0.01, "joint_rad": 0.3}},
        {"success": "never_fell", "terminate": {"fall": True}},
    ],
    ids=["every group", "everything random", "humanoidverse", "absolute", "falling"],
)
def test_in_the_air_worlds_on_the_device_are_those_on_the_processor(keys):
    """With no contact the simulators differ by rounding, so all else must be the same."""
    cpu, device = both(4, **keys)
    trials = [0, 1, 2, 4]
    expected, found = (env.reset([0, 1, 2, 3], trials, trials) for env in (cpu, device))
    for mine, theirs in zip(found, expected, strict=True):
        same(mine, theirs, atol=1e-5, rtol=1e-5)
    for world in range(4):
        mine, theirs = dict(device.constants(world)), dict(cpu.constants(world))
        assert mine.keys() == theirs.keys()
        for name, value in theirs.items():
            if value.dtype.kind == "f":
                np.testing.assert_allclose(mine[name], value, atol=1e-6, err_msg=name)
            else:
                np.testing.assert_array_equal(mine[name], value)
    ended = 0
    for k in range(14):
        actions = np.array([wiggle(trial, k) for trial in trials])
        mine, theirs = device.step_columns(None, actions), cpu.step_columns(None, actions)
        same(mine.observation, theirs.observation)
        same(mine.signals, theirs.signals)
        np.testing.assert_allclose(mine.reward, theirs.reward, **CLOSE)
        for flag in ("terminated", "truncated", "success"):
            np.testing.assert_array_equal(getattr(mine, flag), getattr(theirs, flag), err_msg=flag)
        ended += int((mine.truncated | mine.terminated).sum())
        if k == 5:
            for world, trial in ((1, 5), (3, 6)):
                trials[world] = trial
                first = [env.reset([world], [trial], [trial])[0] for env in (device, cpu)]
                same(*first, atol=1e-5, rtol=1e-5)
    assert ended
    cpu.close()
    device.close()


@pytest.mark.parametrize("keys", [{}, {**EVERYTHING_RANDOM, "observations": ALL_GROUPS}], ids=["plain", "random"])
def test_a_trial_does_not_depend_on_its_world_nor_on_its_neighbours_nor_on_their_number(keys):
    """To the byte, on the processor device."""
    env = device_env(4, **keys)
    assert env.exact
    alone = episode(env, 0, 3, [])
    assert episode(env, 0, 3, [8, 9, 10]) == alone
    assert episode(env, 2, 3, [11, 3, 1]) == alone
    env.close()
    for n in (1, 7):
        other = device_env(n, **keys)
        assert episode(other, n - 1, 3, range(20, 19 + n)) == alone
        other.close()


def test_others_that_begin_anew_in_the_middle_change_nothing():
    env = device_env(3)
    env.reset([0, 1, 2], [5, 6, 7], [0, 1, 2])
    straight = [bytes_of(step_of(env, 1, k)) for k in range(8)]
    env.reset([0, 1, 2], [5, 6, 7], [0, 1, 2])
    disturbed = []
    for k in range(8):
        if k in (2, 5):
            env.reset([0, 2], [k, k + 1], [k, k + 1])
        disturbed.append(bytes_of(step_of(env, 1, k)))
    assert disturbed == straight
    env.close()


def step_of(env: Any, world: int, k: int) -> dict[str, Any]:
    """What a step of all worlds gave one of them."""
    columns = env.step_columns(None, np.array([wiggle(w, k) for w in range(env.num_worlds)]))
    arrays = {**columns.observation, **columns.signals, "reward": columns.reward, "success": columns.success}
    return {name: array[world] for name, array in arrays.items()}


@pytest.mark.parametrize("how", ["action", "state"])
def test_a_world_that_breaks_down_has_a_reward_of_nan_and_stays_alone_with_it(how):
    env = device_env(3)
    env.reset([0, 1, 2], [5, 6, 7], [0, 1, 2])
    whole = [bytes_of(step_of(env, 2, k)) for k in range(4)]
    env.reset([0, 1, 2], [5, 6, 7], [0, 1, 2])
    seen = []
    for k in range(4):
        actions = np.array([wiggle(w, k) for w in range(3)])
        if k == 1 and how == "action":
            actions[1, 3] = np.nan
        if k == 1 and how == "state":
            env.worlds.physics.qvel[1, 10] = 1e15
        columns = env.step_columns(None, actions)
        assert np.isnan(columns.reward).tolist() == [False, k == 1, False]
        assert all(np.isfinite(array).all() for array in columns.signals.values() if how == "action")
        arrays = {**columns.observation, **columns.signals, "reward": columns.reward, "success": columns.success}
        seen.append(bytes_of({name: array[2] for name, array in arrays.items()}))
        if k == 1:
            env.reset([1], [9], [1])
    assert seen == whole
    env.close()


def test_a_world_without_room_for_its_contacts_is_no_silent_wrong_number():
    env = device_env(2, contacts=1, constraints=30)
    env.reset([0, 1], [0, 1], [0, 1])
    assert env.crowded() is None
    rewards = np.array([env.step_columns(None, np.zeros((2, 29), np.float32)).reward for _ in range(5)])
    assert np.isnan(rewards).any()
    said = env.crowded()
    assert said is not None
    assert "1 contacts and 30 constraints" in said
    env.close()


def test_worlds_can_be_put_anywhere_by_tensors():
    env = device_env(4)
    env.reset([0, 1, 2, 3], [0, 1, 2, 3], [0, 1, 2, 0])
    for k in range(3):
        env.step_device(torch.tensor(np.array([wiggle(w, k) for w in range(4)])))
    before = env.worlds.physics.qpos.clone()
    mask = torch.tensor([True, False, True, False])
    seen = env.begin_where(mask, torch.tensor([1, 0, 2, 0]), torch.tensor([7, 0, 3, 0]))
    after, library = env.worlds.physics.qpos, short_motions()
    assert torch.equal(after[~mask], before[~mask])
    for world, motion, frame in ((0, 1, 7), (2, 2, 3)):
        expected = library.frames.qpos[library.rows(np.array(motion), np.array(frame))]
        np.testing.assert_allclose(after[world], expected, atol=1e-6)
        assert seen["motion"][world] == motion
        assert seen["frame"][world] == frame + 1
    assert env.worlds.steps.tolist() == [0, 3, 0, 3]
    first = env.begin_where(mask, torch.tensor([1, 0, 2, 0]))
    assert first["frame"].tolist() == [1, 4, 1, 4]
    env.close()


def test_a_replayed_step_is_a_step_that_is_launched_again():
    """The captured graph has the whole control step, with as many iterations of the solver as it takes."""
    first, second = device_env(2), device_env(2)
    for env in (first, second):
        env.reset([0, 1], [0, 1], [0, 1])
    physics: Any = second.worlds.physics
    for k in range(6):
        actions = np.array([wiggle(w, k) for w in range(2)])
        replayed = bytes_of(step_of(first, 0, k))
        second.worlds.action.copy_(torch.tensor(actions))
        second.worlds.before()
        with split_as_for_one_world():
            physics._step()
        assert torch.equal(physics.qpos, first.worlds.physics.qpos)
        assert replayed
    first.close()
    second.close()


def test_what_can_be_seen_of_the_robots_is_the_same():
    env = device_env(1)
    env.records_states = True
    env.reset([0], [0], [0])
    signals = env.step_columns(None, np.zeros((1, 29), np.float32)).signals
    assert signals["state.body_pos"].shape == (1, len(g1().body_names), 3)
    assert "scene.reference_body_pos" in env.constants(0)
    env.close()
