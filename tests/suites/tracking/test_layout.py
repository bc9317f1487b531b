"""HumanoidVerse's layout of observations and actions."""

from __future__ import annotations

import numpy as np
import pytest
from pydantic import ValidationError
from tracking_worlds import batch_env, g1, options, short_motions

from proctor.suites.tracking.layout import ActorHistory, HumanoidVerseLayout, history_size
from proctor.suites.tracking.observations import reference_observations
from proctor.suites.tracking.robot import load_robot
from proctor.training.own import OwnEnvironment

LAYOUT = HumanoidVerseLayout()
J = 29
GROUPS = ("state", "last_action", "history_actor", "qvel")


def own(**keys):
    return OwnEnvironment(g1(), short_motions(), 2, options(observations=GROUPS, layout="humanoidverse", **keys))


def begin(env, seed=0):
    first = short_motions().gather(np.array([0, 1]), np.zeros(2, np.int64))
    rngs = [np.random.default_rng([seed, world]) for world in range(2)]
    return env.begin(np.arange(2), np.array([0, 1]), rngs, (first.qpos, first.qvel))


def test_the_angular_velocity_of_the_base_is_scaled_and_nothing_else():
    plain = OwnEnvironment(g1(), short_motions(), 2, options(observations=GROUPS[:2]))
    state, other = begin(own())["state"], begin(plain)["state"]
    np.testing.assert_array_equal(state[:, :-3], other[:, :-3])
    np.testing.assert_allclose(state[:, -3:], 0.25 * other[:, -3:], rtol=1e-6)


def test_noise_comes_before_the_scale():
    noise = {"angular_velocity": 1.0}
    quiet, noisy = (begin(own(noise=given))["state"][:, -3:] for given in ({}, noise))
    assert 0.05 < np.abs(noisy - quiet).max() <= 0.25


def test_actions_are_multiplied_clipped_and_shown_so():
    env, action = own(), np.linspace(-2.0, 2.0, 2 * J, dtype=np.float32).reshape(2, J)
    begin(env)
    np.testing.assert_allclose(env.step(action)[0]["last_action"], np.clip(5 * action, -5, 5), rtol=1e-6)
    plain = OwnEnvironment(g1(), short_motions(), 2, options(observations=GROUPS[:2]))
    begin(plain)
    plain.step(np.clip(5 * action, -5, 5))
    np.testing.assert_allclose(env.read().joint_pos, plain.read().joint_pos, atol=1e-9)


def test_the_history_is_newest_first_part_by_part_and_without_the_first_observation():
    env, rng = own(), np.random.default_rng(0)
    seen = [begin(env)]
    for _ in range(6):
        seen.append(env.step(rng.uniform(-0.3, 0.3, (2, J)).astype(np.float32))[0])
    assert not seen[0]["history_actor"].any()
    assert not seen[1]["history_actor"].any(), "the first observation never enters"
    past = [seen[i] for i in (5, 4, 3, 2)]
    cuts = np.cumsum([J, J, 3])
    joints, speeds, gravity, turning = zip(*(np.split(one["state"], cuts, axis=1) for one in past), strict=True)
    acted = [one["last_action"] for one in past]
    expected = np.concatenate([*acted, *turning, *joints, *speeds, *gravity], axis=1)
    np.testing.assert_array_equal(seen[6]["history_actor"], expected)
    assert seen[2]["history_actor"][:, J : 4 * J].any() == False  # noqa: E712 - one step is past, three are zero


def test_a_new_episode_has_no_past_and_leaves_its_neighbours():
    env = own()
    begin(env)
    for _ in range(3):
        env.step(np.full((2, J), 0.1, np.float32))
    first = short_motions().gather(np.array([2]), np.zeros(1, np.int64))
    seen = env.begin(np.array([1]), np.array([2]), [np.random.default_rng(0)], (first.qpos, first.qvel))
    assert not seen["history_actor"][1].any()
    assert seen["history_actor"][0].any()


def test_lengths_of_the_history_come_from_the_options():
    layout = HumanoidVerseLayout.model_validate({"history": {"actions": 0, "dof_pos": 2}})
    assert history_size(LAYOUT, J) == 372
    assert history_size(layout, J) == 4 * (3 + J + 3) + 2 * J
    history = ActorHistory(layout, 1, J)
    history.push(slice(None), np.ones((1, 64)), np.ones((1, J)))
    assert history.seen(slice(None)).sum() == 3 + J + J + 3


def test_the_space_is_what_is_seen():
    with_layout = batch_env(1, observations=(*GROUPS, "motion", "frame"), layout={"name": "humanoidverse"})
    assert with_layout.observation_space["history_actor"].shape == (372,)
    with_layout.close()


def test_include_history_actor_adds_the_layouts():
    assert "history_actor" in options(layout="humanoidverse", include_history_actor=True).groups
    assert "history" in options(include_history_actor=True).groups


def test_a_references_angular_velocity_is_the_worlds():
    robot, frames = g1(), short_motions().reference(2)
    plain, theirs = (reference_observations(robot, frames, layout=layout)["state"] for layout in (None, LAYOUT))
    np.testing.assert_array_equal(theirs[:, :-3], plain[:, :-3])
    np.testing.assert_array_equal(theirs[:, -3:], frames.body_ang_vel[:, robot.root])


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ({"observations": ["history_actor"]}, "is an observation of HumanoidVerse; set layout: humanoidverse"),
        ({"layout": "humanoidverse", "action": "absolute"}, "HumanoidVerse's actions are offsets"),
        ({"layout": "isaac"}, "humanoidverse"),
    ],
)
def test_what_does_not_go_together_is_refused(keys, text):
    with pytest.raises(ValidationError, match=text):
        options(**keys)


def test_the_g1_of_bfm_zero_has_its_gains():
    robot, names = load_robot("builtin:g1_bfm_zero").description, g1().description.joint_names
    by_name = dict(zip(names, zip(robot.default_pose, robot.stiffness, robot.action_scale, strict=True), strict=True))
    assert by_name["left_hip_pitch_joint"] == pytest.approx((-0.1, 99.09843, 0.25 * 139 / 99.09843))
    assert by_name["waist_roll_joint"] == pytest.approx((0.0, 300.0, 0.25 * 50 / 300))
    assert by_name["right_wrist_yaw_joint"] == pytest.approx((0.0, 16.77833, 0.25 * 5 / 16.77833))
    assert load_robot("builtin:g1", description="builtin:g1_bfm_zero").description.stiffness[0] == 99.09843
