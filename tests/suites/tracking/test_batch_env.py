"""The batch environment: the laws of one, what is recorded, and when an episode is over."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tracking_worlds import ALL_GROUPS, EVERYTHING_RANDOM, batch_env, g1, short_motions, wiggle, window_parts

from proctor.suites.tracking import observations as obs
from proctor.testing import BatchEnvConformance


class TestConformance(BatchEnvConformance):
    steps = 8

    def make(self):
        return batch_env(3, observations=ALL_GROUPS)


class TestConformanceRandomised(BatchEnvConformance):
    steps = 6

    def make(self):
        return batch_env(2, **EVERYTHING_RANDOM, terminate={"far_m": 0.5})


@pytest.fixture
def env():
    made = []

    def make(n: int, **keys: Any):
        made.append(batch_env(n, **keys))
        return made[-1]

    yield make
    for each in made:
        each.close()


def test_an_observation_on_a_reference_frame_is_the_reference_s_observation(env):
    e = env(3, observations=["state", "privileged_state"])
    first = e.reset([0, 1, 2], [0, 0, 0], [0, 1, 2])
    for motion, observation in enumerate(first):
        expected = obs.reference_observations(g1(), short_motions().reference(motion))
        for group in ("state", "privileged_state"):
            np.testing.assert_allclose(observation[group], expected[group][0], atol=1e-6)


def test_step_k_is_told_of_frame_k_plus_1(env):
    e = env(1, observations=["frame", "motion", "reference"], reference_offsets=[1])
    observation = e.reset([0], [0], [4])[0]
    reference = short_motions().reference(1)
    parts = window_parts(g1())
    for k in range(len(reference) - 1):
        assert observation["motion"] == 1
        assert observation["frame"] == k + 1
        told = observation["reference"][0]
        np.testing.assert_allclose(told[parts["joint_pos"]], reference.joint_pos[k + 1], atol=1e-6)
        np.testing.assert_allclose(told[parts["joint_vel"]], reference.joint_vel[k + 1], atol=1e-5)
        step = e.step({0: wiggle(0, k)})[0]
        observation = step.observation
    assert step.truncated
    assert observation["frame"] == len(reference) - 1
    assert observation in e.observation_space
    assert observation["frame"].dtype == observation["motion"].dtype == np.int64


def test_window_offsets_stop_at_the_ends_of_the_motion(env):
    e = env(1, observations=["reference"], reference_offsets=[-2, 0, 100])
    window = e.reset([0], [0], [0])[0]["reference"]
    reference, joints = short_motions().reference(0), window_parts(g1())["joint_pos"]
    for row, frame in zip(window, (0, 0, len(reference) - 1), strict=True):
        np.testing.assert_allclose(row[joints], reference.joint_pos[frame], atol=1e-6)


def test_every_motion_is_followed_on_its_own_length(env):
    e = env(3)
    e.reset([0, 1, 2], [0, 1, 2], [0, 1, 2])
    steps, live = {0: 0, 1: 0, 2: 0}, [0, 1, 2]
    while live:
        answers = e.step({w: wiggle(w, steps[w]) for w in live})
        for world in live:
            steps[world] += 1
        live = [w for w in live if not answers[w].truncated]
        assert not any(answer.terminated for answer in answers.values())
    assert [steps[w] + 1 for w in range(3)] == short_motions().lengths.tolist()
    assert e.max_steps == short_motions().lengths.max() - 1


def test_record_has_first_frame_reference_and_steps_in_one_shape(env):
    e = env(2, observations=["state"])
    e.reset([0, 1], [0, 1], [5, 6])
    constants, reference = dict(e.constants(0)), short_motions().reference(2)
    assert constants["case"] == reference.name == "turn"
    assert constants["joint_names"].tolist() == list(g1().description.joint_names)
    assert constants["body_names"].tolist() == list(g1().description.tracked_bodies)
    tracked = {
        "joint_pos": reference.joint_pos,
        "body_pos": reference.body_pos[:, g1().tracked],
        "root_pos": reference.root_pos,
        "root_quat": reference.root_quat,
        "anchor_quat": reference.body_quat[:, g1().anchor],
        "observed_joint_pos": reference.joint_pos - g1().description.default_pose,
    }
    signals = e.step({0: wiggle(0, 0), 1: wiggle(1, 0)})[0].signals
    assert set(signals) == set(tracked)
    for name, expected in tracked.items():
        np.testing.assert_array_equal(constants[f"reference.{name}"], expected)
        np.testing.assert_allclose(constants[f"first.{name}"], expected[0], atol=1e-12)
        assert signals[name].shape == expected[0].shape
    np.testing.assert_array_equal(signals["joint_pos"], e.worlds.qpos[0, 7:])
    np.testing.assert_array_equal(signals["body_pos"], e.worlds.bodies.pos[0, g1().tracked])


def test_the_record_does_not_say_in_which_world_a_trial_ran(env):
    """It would make the same trial another one wherever it runs."""
    e = env(2)
    e.reset([0, 1], [3, 3], [1, 1])
    first, second = e.constants(0), e.constants(1)
    assert first.keys() == second.keys()
    assert all(np.array_equal(first[name], second[name]) for name in first)


def test_without_a_state_nothing_observed_is_recorded(env):
    e = env(1, observations=["motion"])
    e.reset([0], [0], [0])
    assert "observed_joint_pos" not in e.step({0: wiggle(0, 0)})[0].signals
    assert "reference.observed_joint_pos" not in e.constants(0)


def test_observed_joints_are_recorded_with_their_noise(env):
    e = env(1, observations=["state"], noise={"joint_pos": 0.1})
    e.reset([0], [0], [0])
    step = e.step({0: wiggle(0, 0)})[0]
    observed = step.signals["observed_joint_pos"]
    np.testing.assert_allclose(observed, step.observation["state"][:29], atol=1e-6)
    assert np.abs(observed - (step.signals["joint_pos"] - g1().description.default_pose)).max() > 1e-3


def test_history_has_the_last_pairs_of_state_and_action_oldest_first(env):
    e = env(1, observations=["state", "history", "last_action"], context_length=3)
    observation = e.reset([0], [0], [0])[0]
    np.testing.assert_array_equal(observation["history"], np.zeros((3, 93)))
    np.testing.assert_array_equal(observation["last_action"], np.zeros(29))
    pairs = []
    for k in range(5):
        pairs.append(np.concatenate([observation["state"], wiggle(0, k)]))
        observation = e.step({0: wiggle(0, k)})[0].observation
        expected = np.array(pairs[-3:])
        np.testing.assert_array_equal(observation["history"][-len(expected) :], expected)
        np.testing.assert_array_equal(observation["history"][: -len(expected)], 0)
        np.testing.assert_array_equal(observation["last_action"], wiggle(0, k))
    np.testing.assert_array_equal(e.reset([0], [0], [0])[0]["history"], 0)


def test_raw_observations_are_the_state(env):
    e = env(2, observations=ALL_GROUPS)
    first = e.reset([1, 0], [1, 0], [1, 0])
    for world, observation in zip([1, 0], first, strict=True):
        worlds = e.worlds
        states = {"qpos": worlds.qpos, "qvel": worlds.qvel, "xpos": worlds.bodies.pos, "xquat": worlds.bodies.quat}
        for name, state in states.items():
            np.testing.assert_array_equal(observation[name], state[world])
        assert observation["root_height"] == np.float32(e.worlds.qpos[world, 2])


def test_reward_is_one_on_the_reference_and_follows_its_formula(env):
    e = env(1)
    e.reset([0], [0], [0])
    step = e.step({0: wiggle(0, 0)})[0]
    error = step.signals["body_pos"] - short_motions().reference(0).body_pos[1, g1().tracked]
    assert step.reward == pytest.approx(np.exp(-np.mean(np.sum(error**2, axis=1)) / 0.3**2), rel=1e-12)
    assert 0.9 < step.reward <= 1


def place(e: Any, shift: float = 0.0, lean: float = 0.0, height: float | None = None) -> None:
    """Start world 0 again, moved ahead, leaning forward, or at another height."""
    qpos = short_motions().reference(0).qpos[:1].copy()
    qpos[0, 0] += shift
    qpos[0, 3:7] = np.cos(lean / 2), 0, np.sin(lean / 2), 0
    qpos[0, 2] = qpos[0, 2] if height is None else height
    e.worlds.reset([0], [0], [np.random.default_rng(0)], states=(qpos, np.zeros((1, 35))))


@pytest.mark.parametrize(
    ("rule", "shift", "lean", "expected"),
    [
        ("phc_mean", 0.45, 0.0, True),
        ("phc_mean", 0.6, 0.0, False),
        ("phc_linf", 0.45, 0.0, True),
        ("phc_linf", 0.6, 0.0, False),
        ("phc_mean", 0.0, 0.9, True),
        ("phc_linf", 0.0, 0.9, False),
        ("never_fell", 0.6, 0.0, True),
        ("never_fell", 0.0, 0.7, True),
        ("never_fell", 0.0, 0.9, False),
    ],
)
def test_success_by_its_rule_and_never_again_once_broken(env, rule, shift, lean, expected):
    e = env(1, success=rule)
    e.reset([0], [0], [0])
    assert e.step({0: wiggle(0, 0)})[0].success
    place(e, shift, lean, height=1.0 if lean else None)
    assert e.step({0: wiggle(0, 0)})[0].success is expected
    place(e)
    assert e.step({0: wiggle(0, 0)})[0].success is expected
    e.reset([0], [0], [0])
    assert e.step({0: wiggle(0, 0)})[0].success


@pytest.mark.parametrize(
    "terminate",
    [{"fall": True}, {"far_m": 0.2}, {"root_far_m": 0.3}, {"joint_rad": 0.001}],
    ids=lambda terminate: next(iter(terminate)),
)
def test_terminations_are_off_unless_asked_for(env, terminate):
    for keys, expected in ({}, False), ({"terminate": terminate}, True):
        e = env(1, **keys)
        e.reset([0], [0], [0])
        place(e, shift=0.4, lean=1.5, height=0.3)
        step = e.step({0: wiggle(0, 0)})[0]
        assert (step.terminated, step.truncated) == (expected, False)


def test_a_longest_episode_cuts_motion_and_reference_alike(env):
    e = env(1, max_episode_length_s=0.1)
    assert e.max_steps == 5
    e.reset([0], [0], [1])
    assert e.constants(0)["reference.joint_pos"].shape == (6, 29)
    ends = [e.step({0: wiggle(0, k)})[0].truncated for k in range(5)]
    assert ends == [False] * 4 + [True]


def test_a_broken_simulation_is_a_fault_of_its_trial_alone(env, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # MuJoCo logs its warning in the current folder
    e = env(2)
    e.reset([0, 1], [0, 1], [0, 1])
    wild = np.full((1, 35), 1e12)
    e.worlds.reset([0], [0], [np.random.default_rng(0)], states=(e.worlds.qpos[:1], wild))
    answers = e.step({0: wiggle(0, 0), 1: wiggle(1, 0)})
    assert np.isnan(answers[0].reward)
    assert np.isfinite(answers[1].reward)


def test_legacy_metrics_are_asked_for_in_the_record(env):
    e = env(1, legacy="bfm_zero")
    e.reset([0], [0], [0])
    assert e.constants(0)["tracking.legacy"] == "bfm_zero"


@pytest.mark.parametrize("action", ["offset", "absolute"])
def test_the_dummy_action_holds_the_default_pose(env, action):
    e = env(1, action=action)
    targets = e.worlds.targets(e.dummy_action()[None], np.array([0]))
    np.testing.assert_allclose(targets[0], g1().description.default_pose, atol=1e-7)
