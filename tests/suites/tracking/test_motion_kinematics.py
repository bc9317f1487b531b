"""Rotations, forward kinematics and resampling: laws, and parity with MuJoCo."""

from __future__ import annotations

from dataclasses import replace

import mujoco
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from robots import BIPED, g1

from proctor.errors import InputError
from proctor.suites.tracking.motions import Frames, Motion
from proctor.suites.tracking.motions.loading import angular_velocity, differences, make_reference, n_frames
from proctor.suites.tracking.robot import load_robot
from proctor.suites.tracking.rotations import about, conjugate, continuous, log, multiply, rotate, slerp

seeds = st.integers(0, 2**31)
X = np.array([1.0, 0.0, 0.0])


def unit_quats(rng, *shape):
    quats = rng.normal(size=(*shape, 4))
    return quats / np.linalg.norm(quats, axis=-1, keepdims=True)


def same_rotation(a, b, tolerance=1e-12):
    np.testing.assert_allclose(np.abs((a * b).sum(axis=-1)), 1, atol=tolerance)


@pytest.fixture
def biped(tmp_path):
    path = tmp_path / "biped.xml"
    path.write_text(BIPED)
    return load_robot(str(path))


@given(seeds)
def test_rotating_is_a_homomorphism(seed):
    rng = np.random.default_rng(seed)
    a, b = unit_quats(rng, 2, 5)
    v = rng.normal(size=(5, 3))
    np.testing.assert_allclose(rotate(multiply(a, b), v), rotate(a, rotate(b, v)), atol=1e-12)
    np.testing.assert_allclose(rotate(conjugate(a), rotate(a, v)), v, atol=1e-12)


@given(seeds)
def test_log_undoes_about(seed):
    rng = np.random.default_rng(seed)
    axis = rng.normal(size=(6, 3))
    axis /= np.linalg.norm(axis, axis=1, keepdims=True)
    angle = rng.uniform(0, np.pi, 6) * np.array([1, 1, 1, 1e-3, 1e-9, 0])
    np.testing.assert_allclose(log(about(axis, angle)), axis * angle[:, None], atol=1e-12)
    np.testing.assert_allclose(log(-about(axis, angle)), axis * angle[:, None], atol=1e-12)


@given(seeds, st.floats(0, 1))
def test_slerp_is_symmetric(seed, part):
    a, b = unit_quats(np.random.default_rng(seed), 2, 4)
    there = slerp(a, b, np.full(4, part))
    same_rotation(there, slerp(b, a, np.full(4, 1 - part)))
    same_rotation(there, slerp(a, -b, np.full(4, part)))
    np.testing.assert_allclose(np.linalg.norm(there, axis=1), 1)


def test_slerp_keeps_its_ends_and_turns_uniformly():
    a, b = about(X, np.array([0.2])), about(X, np.array([1.4]))
    np.testing.assert_array_equal(slerp(a, b, np.zeros(1)), a)
    same_rotation(slerp(a, b, np.ones(1)), b)
    same_rotation(slerp(a, b, np.array([0.25])), about(X, np.array([0.5])))
    same_rotation(slerp(a, a, np.array([0.3])), a)


def test_continuous_changes_signs_only():
    quats = about(X, np.linspace(0, 7, 20)) * np.where(np.arange(20) % 3, 1, -1)[:, None]
    found = continuous(quats)
    assert ((found[1:] * found[:-1]).sum(axis=1) > 0).all()
    np.testing.assert_array_equal(np.abs(found), np.abs(quats))


@pytest.mark.parametrize("which", ["g1", "biped"])
def test_forward_kinematics_are_mujocos(which, biped):
    robot = g1() if which == "g1" else biped
    joints = robot.description.n_joints
    rng = np.random.default_rng(0)
    qpos = np.concatenate([rng.normal(size=(20, 3)), unit_quats(rng, 20), rng.uniform(-2, 2, (20, joints))], axis=1)
    qvel = rng.normal(size=(20, 6 + joints))
    frames, data, velocity = Frames.of(robot, qpos, qvel), mujoco.MjData(robot.model), np.empty(6)
    for t in range(20):
        data.qpos[:], data.qvel[:] = qpos[t], qvel[t]
        mujoco.mj_forward(robot.model, data)
        np.testing.assert_allclose(frames.body_pos[t], data.xpos[1:], atol=1e-12)
        same_rotation(frames.body_quat[t], data.xquat[1:])
        for body in range(len(robot.body_names)):
            mujoco.mj_objectVelocity(robot.model, data, mujoco.mjtObj.mjOBJ_XBODY, body + 1, velocity, 0)
            np.testing.assert_allclose(frames.body_ang_vel[t, body], velocity[:3], atol=1e-12)
            np.testing.assert_allclose(frames.body_lin_vel[t, body], velocity[3:], atol=1e-12)


def test_a_rotation_of_length_zero_spoils_its_own_state_only():
    robot, joints = g1(), g1().description.n_joints
    qpos, qvel = np.tile(robot.default_qpos, (2, 1)), np.zeros((2, 6 + joints))
    expected = Frames.of(robot, qpos[1:], qvel[1:])
    qpos[0, 3:7] = 0.0
    frames = Frames.of(robot, qpos, qvel)
    assert np.isnan(frames.body_quat[0]).all()
    np.testing.assert_array_equal(frames.body_pos[1:], expected.body_pos)


def motion(n=40, fps=50.0, seed=0, robot=None):
    rng = np.random.default_rng(seed)
    joints = (robot or g1()).description.n_joints
    path = np.cumsum(rng.normal(0, 0.02, (n, 3 + joints)), axis=0)
    quats = continuous(unit_quats(rng, 1) + np.cumsum(rng.normal(0, 0.02, (n, 4)), axis=0))
    quats /= np.linalg.norm(quats, axis=1, keepdims=True)
    return Motion("walk", fps, path[:, :3], quats, path[:, 3:])


@pytest.mark.parametrize("fps", [30.0, 50.0, 60.0, 120.0])
def test_resampling_to_the_same_rate_is_the_identity(fps):
    read = motion(fps=fps)
    reference = make_reference(read, g1(), 1 / fps)
    assert len(reference) == 39
    np.testing.assert_array_equal(reference.root_pos, read.root_pos[:-1])
    np.testing.assert_array_equal(reference.root_quat, read.root_quat[:-1])
    np.testing.assert_array_equal(reference.joint_pos, read.joint_pos[:-1])


@pytest.mark.parametrize(("frames", "fps", "expected"), [(393, 60, 327), (51, 50, 50), (2, 30, 2), (1501, 30, 2500)])
def test_the_number_of_frames_is_the_length_over_the_period_rounded_up(frames, fps, expected):
    assert n_frames((frames - 1) / fps, 0.02) == expected


def test_resampling_lies_between_the_frames():
    read = motion(fps=30.0)
    reference = make_reference(read, g1(), 0.02)
    for t in (0, 1, 17, len(reference) - 1):
        place = t * 0.02 * 30
        i, part = int(place), place - int(place)
        np.testing.assert_allclose(
            reference.joint_pos[t], (1 - part) * read.joint_pos[i] + part * read.joint_pos[i + 1], atol=1e-12
        )
        expected = slerp(read.root_quat[i : i + 1], read.root_quat[i + 1 : i + 2], np.array([part]))
        same_rotation(reference.root_quat[t], expected[0])


def test_halving_the_rate_takes_every_second_frame():
    fine, coarse = (make_reference(motion(n=41), g1(), dt) for dt in (0.02, 0.04))
    np.testing.assert_allclose(coarse.qpos, fine.qpos[::2], atol=1e-12)


def test_a_motion_at_rest_has_no_velocity():
    still = Motion("still", 30.0, *(np.repeat(part[:1], 20, axis=0) for part in _parts(motion())))
    reference = make_reference(still, g1(), 0.02)
    for array in (reference.qvel, reference.body_lin_vel, reference.body_ang_vel):
        np.testing.assert_allclose(array, 0, atol=1e-12)


def _parts(read):
    return read.root_pos, read.root_quat, read.joint_pos


@pytest.mark.parametrize("fps", [30.0, 50.0])
def test_the_velocity_of_a_uniform_motion_is_exact(fps):
    t = np.arange(60) / fps
    axis, first = np.array([0.6, 0.0, 0.8]), about(X, np.array([0.7]))
    speed = np.linspace(-1, 1, 29)
    uniform = Motion(
        "uniform", fps, t[:, None] * [1.0, -2.0, 0.5], multiply(about(axis, 2.5 * t), first), t[:, None] * speed * 0.3
    )
    reference = make_reference(uniform, g1(), 0.02)
    n = len(reference)
    np.testing.assert_allclose(reference.qvel[:, :3], np.tile([1.0, -2.0, 0.5], (n, 1)), atol=1e-9)
    np.testing.assert_allclose(reference.body_ang_vel[:, 0], np.tile(2.5 * axis, (n, 1)), atol=1e-9)
    np.testing.assert_allclose(
        rotate(reference.root_quat, reference.qvel[:, 3:6]), np.tile(2.5 * axis, (n, 1)), atol=1e-9
    )
    np.testing.assert_allclose(reference.joint_vel, np.tile(0.3 * speed, (n, 1)), atol=1e-9)


def test_velocities_are_central_differences():
    values = np.array([[0.0], [1.0], [4.0], [9.0]])
    np.testing.assert_allclose(differences(values, 0.5)[:, 0], [2, 4, 8, 10])
    turns = about(X, np.array([0.0, 0.1, 0.4, 0.9]))
    np.testing.assert_allclose(angular_velocity(turns, 0.1)[:, 0], [1, 2, 4, 5])


def test_body_velocities_agree_with_how_the_bodies_move():
    t = np.arange(200) / 100
    smooth = np.sin(t[:, None] * np.linspace(0.5, 2, 29))
    reference = make_reference(Motion("smooth", 100.0, smooth[:, :3], about(X, smooth[:, 3]), 0.3 * smooth), g1(), 0.01)
    moved = (reference.body_pos[2:] - reference.body_pos[:-2]) / 0.02
    np.testing.assert_allclose(reference.body_lin_vel[1:-1], moved, atol=2e-3)


def test_velocities_of_the_file_are_kept_where_asked():
    read = motion()
    given = replace(
        read, root_lin_vel=np.ones((40, 3)), root_ang_vel=np.full((40, 3), 2.0), joint_vel=np.full((40, 29), 3.0)
    )
    reference = make_reference(given, g1(), 0.02)
    np.testing.assert_allclose(reference.qvel[:, :3], 1)
    np.testing.assert_allclose(reference.body_ang_vel[:, 0], 2)
    np.testing.assert_allclose(reference.joint_vel, 3)


def test_a_motion_of_one_control_step_is_too_short():
    with pytest.raises(InputError, match=r"walk: 2 frames at 50 a second last 0\.02 s; more than 0\.02 s are needed"):
        make_reference(motion(n=2), g1(), 0.02)
