"""Observations: their sizes, their order, their symmetries, and that references are observed as worlds are."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from tracking_worlds import g1, short_motions, window_parts

from proctor.suites.tracking import observations as obs
from proctor.suites.tracking.motions import Frames


def states(n: int, seed: int = 0) -> Frames:
    """Random states and where the bodies then are."""
    rng, robot = np.random.default_rng(seed), g1()
    qpos = rng.normal(size=(n, 7 + robot.description.n_joints))
    qpos[:, 3:7] /= np.linalg.norm(qpos[:, 3:7], axis=1, keepdims=True)
    return Frames.of(robot, qpos, rng.normal(size=(n, 6 + robot.description.n_joints)))


def privileged(frames: Frames) -> np.ndarray:
    return obs.privileged_observation(g1(), frames.body_pos, frames.body_quat, frames.body_lin_vel, frames.body_ang_vel)


def rotation(quat: np.ndarray) -> Rotation:
    return Rotation.from_quat(np.roll(quat, -1, axis=-1))


def test_sizes_of_the_g1():
    frames = states(3)
    assert obs.state_observation(g1(), frames.qpos, frames.qvel).shape == (3, 64)
    assert privileged(frames).shape == (3, 463)
    assert obs.state_size(g1()) == 64
    assert obs.privileged_size(g1()) == 463


def test_state_of_a_robot_that_stands_still():
    robot = g1()
    state = obs.state_observation(robot, robot.default_qpos, np.zeros(6 + 29))
    np.testing.assert_array_equal(state[:58], 0)
    np.testing.assert_array_equal(state[58:61], [0, 0, -1])
    np.testing.assert_array_equal(state[61:], 0)


def test_state_has_joints_velocities_gravity_and_angular_velocity_in_this_order():
    robot, frames = g1(), states(5)
    state = obs.state_observation(robot, frames.qpos, frames.qvel)
    np.testing.assert_array_equal(state[:, :29], frames.qpos[:, 7:] - robot.description.default_pose)
    np.testing.assert_array_equal(state[:, 29:58], frames.qvel[:, 6:])
    gravity = rotation(frames.root_quat).inv().apply([0, 0, -1])
    np.testing.assert_allclose(state[:, 58:61], gravity, atol=1e-14)
    np.testing.assert_array_equal(state[:, 61:], frames.qvel[:, 3:6])


def test_a_robot_that_bends_over_feels_gravity_ahead():
    robot = g1()
    qpos = robot.default_qpos.copy()
    qpos[3:7] = rotation_about_y(np.pi / 2)
    np.testing.assert_allclose(obs.state_observation(robot, qpos, np.zeros(35))[58:61], [1, 0, 0], atol=1e-15)


def rotation_about_y(angle: float) -> np.ndarray:
    return np.array([np.cos(angle / 2), 0, np.sin(angle / 2), 0])


def test_privileged_state_by_its_formula():
    """Row by row with rotation matrices, as the definition reads."""
    robot, frames = g1(), states(4)
    for i, found in enumerate(privileged(frames)):
        root = frames.body_pos[i, robot.root]
        ahead = rotation(frames.body_quat[i, robot.root]).apply([1, 0, 0])
        back = Rotation.from_euler("z", -np.arctan2(ahead[1], ahead[0]))
        bodies = list(robot.observed)
        assert bodies[0] == robot.root
        axes = [(back * rotation(frames.body_quat[i, b])).as_matrix()[:, [0, 2]].T for b in bodies]
        expected = [
            root[2:],
            *(back.apply(frames.body_pos[i, b] - root) for b in bodies[1:]),
            *(axis.ravel() for axis in axes),
            *(back.apply(frames.body_lin_vel[i, b]) for b in bodies),
            *(back.apply(frames.body_ang_vel[i, b]) for b in bodies),
        ]
        np.testing.assert_allclose(found, np.concatenate(expected), atol=1e-12)


@pytest.mark.parametrize("angle", [0.3, -2.0, np.pi])
def test_neither_place_nor_heading_shows_in_the_privileged_state(angle):
    robot, frames = g1(), states(6)
    turn = Rotation.from_euler("z", angle)
    qpos, qvel = frames.qpos.copy(), frames.qvel.copy()
    qpos[:, :3] = turn.apply(qpos[:, :3]) + np.array([3.0, -2.0, 0.0])
    qpos[:, 3:7] = np.roll((turn * rotation(qpos[:, 3:7])).as_quat(), 1, axis=-1)
    qvel[:, :3] = turn.apply(qvel[:, :3])
    np.testing.assert_allclose(privileged(Frames.of(robot, qpos, qvel)), privileged(frames), atol=1e-9)


def test_a_root_that_points_straight_up_has_the_world_s_heading():
    robot = g1()
    qpos = robot.default_qpos[None].copy()
    qpos[:, 3:7] = rotation_about_y(-np.pi / 2)
    frames = Frames.of(robot, qpos, np.zeros((1, 35)))
    others = [b for b in robot.observed if b != robot.root]
    local = frames.body_pos[0, others] - frames.body_pos[0, robot.root]
    np.testing.assert_allclose(privileged(frames)[0, 1 : 1 + 3 * len(others)], local.ravel(), atol=1e-9)


def test_a_row_does_not_depend_on_the_others():
    frames = states(13)
    together = obs.state_observation(g1(), frames.qpos, frames.qvel), privileged(frames)
    for i in range(13):
        one = frames.rows(slice(i, i + 1))
        assert obs.state_observation(g1(), one.qpos, one.qvel)[0].tobytes() == together[0][i].tobytes()
        assert privileged(one)[0].tobytes() == together[1][i].tobytes()


def test_a_reference_is_observed_frame_by_frame_as_a_state_is():
    reference = short_motions().reference(1)
    found = obs.reference_observations(g1(), reference)
    assert set(found) == {"state", "privileged_state"}
    np.testing.assert_array_equal(found["state"], obs.state_observation(g1(), reference.qpos, reference.qvel))
    np.testing.assert_array_equal(found["privileged_state"], privileged(reference))


def test_velocity_multiplier_scales_velocities_only():
    reference = short_motions().reference(1)
    plain, half = (obs.reference_observations(g1(), reference, velocity_multiplier=m) for m in (1.0, 0.5))
    velocities = np.r_[29:58, 61:64]
    np.testing.assert_allclose(half["state"][:, velocities], 0.5 * plain["state"][:, velocities])
    np.testing.assert_array_equal(half["state"][:, :29], plain["state"][:, :29])
    np.testing.assert_array_equal(
        half["privileged_state"][:, : 463 - 6 * 31], plain["privileged_state"][:, : 463 - 186]
    )
    np.testing.assert_allclose(half["privileged_state"][:, -186:], 0.5 * plain["privileged_state"][:, -186:])


def test_the_window_of_one_s_own_frame_has_no_offset():
    robot, frames = g1(), states(4)
    anchor = frames.body_pos[:, robot.anchor], frames.body_quat[:, robot.anchor]
    rows = np.arange(4)[:, None]
    window = obs.window_observation(robot, anchor, frames, rows)
    parts = window_parts(robot)
    assert window.shape == (4, 1, obs.window_row_size(robot))
    assert parts["base_ang_vel"].stop == obs.window_row_size(robot)
    np.testing.assert_array_equal(window[:, 0, parts["joint_pos"]], frames.joint_pos)
    np.testing.assert_array_equal(window[:, 0, parts["joint_vel"]], frames.joint_vel)
    np.testing.assert_allclose(window[:, 0, parts["anchor_pos"]], 0, atol=1e-14)
    np.testing.assert_allclose(window[:, 0, parts["anchor_rotation"]], [[1, 0, 0, 1, 0, 0]] * 4, atol=1e-14)
    body_velocity = rotation(frames.root_quat).inv().apply(frames.qvel[:, :3])
    np.testing.assert_allclose(window[:, 0, parts["base_lin_vel"]], body_velocity, atol=1e-13)
    np.testing.assert_array_equal(window[:, 0, parts["base_ang_vel"]], frames.qvel[:, 3:6])


def test_the_window_is_seen_from_the_robot_s_anchor():
    robot, frames = g1(), states(2)
    own, other = rotation(frames.body_quat[0, robot.anchor]), rotation(frames.body_quat[1, robot.anchor])
    anchor = frames.body_pos[:1, robot.anchor], frames.body_quat[:1, robot.anchor]
    row = obs.window_observation(robot, anchor, frames, np.array([[1]]))[0, 0]
    parts = window_parts(robot)
    there = own.inv().apply(frames.body_pos[1, robot.anchor] - frames.body_pos[0, robot.anchor])
    np.testing.assert_allclose(row[parts["anchor_pos"]], there, atol=1e-13)
    expected = (own.inv() * other).as_matrix()[:, :2].ravel()
    np.testing.assert_allclose(row[parts["anchor_rotation"]], expected, atol=1e-13)
