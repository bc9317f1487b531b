"""Worlds: they are MuJoCo, poses belong to the recorded state, and nothing but the trial decides what happens."""

from __future__ import annotations

import copy

import mujoco
import numpy as np
import pytest
from mujoco import rollout
from shared_data import shared_data
from tracking_worlds import EVERYTHING_RANDOM, batch_env, bytes_of, episode, g1, options, short_motions, wiggle

from proctor.suites.tracking.bodies import Bodies, BodyTree
from proctor.suites.tracking.robot import Robot, load_robot
from proctor.suites.tracking.worlds import Worlds


@pytest.fixture
def worlds():
    made = []

    def make(n: int, **keys) -> Worlds:
        made.append(Worlds(g1(), short_motions(), n, options(**keys)))
        return made[-1]

    yield make
    for each in made:
        each.close()


def start(worlds: Worlds, trials: list[int]) -> None:
    worlds.reset(range(worlds.n), [t % 3 for t in trials], [np.random.default_rng(t) for t in trials])


def forward(robot: Robot, qpos: np.ndarray, qvel: np.ndarray) -> Bodies:
    """Of one state, by MuJoCo's own forward pass; velocities by mj_objectVelocity."""
    data = mujoco.MjData(robot.model)
    data.qpos, data.qvel = qpos, qvel
    mujoco.mj_forward(robot.model, data)
    velocity, spatial = [], np.empty(6)
    for body in range(1, robot.model.nbody):
        mujoco.mj_objectVelocity(robot.model, data, mujoco.mjtObj.mjOBJ_XBODY, body, spatial, 0)
        velocity.append(spatial.copy())
    both = np.array(velocity)
    return Bodies(data.xpos[1:].copy(), data.xquat[1:].copy(), both[:, 3:], both[:, :3])


def assert_bodies_are_mujoco_s(robot: Robot) -> None:
    rng, n = np.random.default_rng(0), 5
    qpos, qvel = rng.normal(size=(n, robot.model.nq)), rng.normal(size=(n, robot.model.nv))
    qpos[:, 3:7] /= np.linalg.norm(qpos[:, 3:7], axis=1, keepdims=True)
    found = BodyTree(robot).bodies(np.concatenate([np.zeros((n, 1)), qpos, qvel], axis=1))
    for i in range(n):
        for array, expected in zip(found, forward(robot, qpos[i], qvel[i]), strict=True):
            np.testing.assert_allclose(array[i], expected, atol=1e-12)


def test_bodies_are_where_mujoco_has_them():
    assert_bodies_are_mujoco_s(g1())


def test_bodies_of_the_menagerie_model_are_where_mujoco_has_them(monkeypatch):
    monkeypatch.setenv("MENAGERIE_ROOT", str(shared_data("menagerie")))
    assert_bodies_are_mujoco_s(load_robot("menagerie:unitree_g1"))


def test_sensors_of_a_rollout_lag_one_substep_and_bodies_of_worlds_do_not(worlds):
    """Why poses are computed apart: a sensor on the head, read by the rollout, lags one substep."""
    spec = g1().spec.copy()
    spec.add_sensor(type=mujoco.mjtSensor.mjSENS_FRAMEPOS, objtype=mujoco.mjtObj.mjOBJ_XBODY, objname="head")
    model, head = spec.compile(), g1().body_index("head")
    w = worlds(1)
    start(w, [0])
    state = np.concatenate([np.zeros((1, 1)), w.qpos, w.qvel], axis=1)
    targets = g1().description.default_pose[None, None].repeat(4, axis=1)
    states, sensed = rollout.rollout(model, mujoco.MjData(model), state, targets)
    w.step(np.zeros((1, 29), np.float32))
    np.testing.assert_array_equal(w.qpos[0], states[0, -1, 1:37])
    at = [forward(g1(), s[1:37], s[37:]).pos[head] for s in states[0]]
    np.testing.assert_allclose(sensed[0, -1], at[-2], atol=1e-12)
    np.testing.assert_allclose(w.bodies.pos[0, head], at[-1], atol=1e-12)
    assert np.abs(at[-1] - at[-2]).max() > 1e-6


def test_recorded_bodies_belong_to_the_recorded_state(worlds):
    w = worlds(2)
    start(w, [0, 1])
    for step in range(5):
        w.step(np.stack([wiggle(0, step), wiggle(1, step)]))
    for i in range(2):
        found = [array[i] for array in w.bodies]
        for array, expected in zip(found, forward(g1(), w.qpos[i], w.qvel[i]), strict=True):
            np.testing.assert_allclose(array, expected, atol=1e-12)


def test_a_control_step_is_four_steps_of_mujoco_with_one_target(worlds):
    robot, w = g1(), worlds(1)
    start(w, [1])
    data = mujoco.MjData(robot.model)
    data.qpos, data.qvel = w.qpos[0], w.qvel[0]
    for step in range(5):
        action = wiggle(1, step)
        w.step(action[None])
        data.qacc_warmstart[:] = 0
        data.ctrl = robot.description.default_pose + robot.description.action_scale * action.astype(np.float64)
        mujoco.mj_step(robot.model, data, nstep=4)
        assert w.qpos[0].tobytes() == data.qpos.tobytes()
        assert w.qvel[0].tobytes() == data.qvel.tobytes()


def test_other_rates(worlds):
    robot, w = g1(), worlds(1, control_hz=100, physics_hz=500)
    model = copy.copy(robot.model)
    model.opt.timestep = 0.002
    data = mujoco.MjData(model)
    start(w, [1])
    data.qpos, data.qvel, data.ctrl = w.qpos[0], w.qvel[0], robot.description.default_pose
    w.step(np.zeros((1, 29)))
    mujoco.mj_step(model, data, nstep=5)
    assert w.dt_s == 0.01
    np.testing.assert_array_equal(w.qpos[0], data.qpos)


def test_an_absolute_action_is_the_target(worlds):
    robot = g1()
    offset, absolute = worlds(1), worlds(1, action="absolute")
    for w in (offset, absolute):
        start(w, [0])
    action = np.full((1, 29), 0.25)
    offset.step(action)
    absolute.step(robot.description.default_pose + robot.description.action_scale * action)
    np.testing.assert_array_equal(offset.qpos, absolute.qpos)


def test_a_world_starts_at_the_first_frame_of_its_motion(worlds):
    w = worlds(3)
    start(w, [0, 1, 2])
    for i in range(3):
        reference = short_motions().reference(i)
        np.testing.assert_array_equal(w.qpos[i], reference.qpos[0])
        np.testing.assert_array_equal(w.qvel[i], reference.qvel[0])
        np.testing.assert_allclose(w.bodies.pos[i], reference.body_pos[0], atol=1e-12)
        np.testing.assert_allclose(w.bodies.lin_vel[i], reference.body_lin_vel[0], atol=1e-12)


@pytest.mark.parametrize("keys", [{}, EVERYTHING_RANDOM], ids=["plain", "randomised"])
def test_a_trial_is_the_same_whatever_runs_beside_it(keys):
    """Number of worlds, of threads, place, neighbours and what the world did before: none matters, to the byte."""
    groups = {"observations": ["state", "privileged_state", "history", "reference", "qpos"], **keys}
    layouts = [
        (1, 1, 0, []),
        (3, 2, 2, [5, 6]),
        (3, 1, 1, [4]),
        (7, 2, 3, [8, 9, 10, 11, 12, 13]),
    ]
    seen = []
    for n, threads, world, neighbours in layouts:
        env = batch_env(n, **groups, threads=threads)
        if n > 1:
            episode(env, 0, trial=21, neighbours=[22], steps=3)
        seen.append(episode(env, world, trial=7, neighbours=neighbours))
        env.close()
    assert all(other == seen[0] for other in seen[1:])


def test_stepping_some_worlds_leaves_the_others_alone(worlds):
    w = worlds(3)
    start(w, [0, 1, 2])
    before = w.qpos.copy()
    w.step(np.zeros((2, 29), np.float32), np.array([0, 2]))
    np.testing.assert_array_equal(w.qpos[1], before[1])
    assert w.frame.tolist() == [1, 0, 1]
    assert (w.qpos[[0, 2]] != before[[0, 2]]).any(axis=1).all()


def test_arrays_that_were_read_are_not_overwritten(worlds):
    w = worlds(2)
    start(w, [0, 1])
    read = [w.qpos, w.qvel, w.bodies.pos, w.bodies.quat, w.bodies.lin_vel, w.frame, w.motion, w.last_action]
    before = bytes_of([array.copy() for array in read])
    w.step(np.ones((2, 29), np.float32))
    w.step(np.ones((1, 29), np.float32), np.array([1]))
    start(w, [2, 2])
    assert bytes_of(read) == before


def test_a_simulation_that_breaks_down_is_noticed_and_harms_nobody_else(worlds, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # MuJoCo logs its warning in the current folder
    w, alone = worlds(2), worlds(1)
    start(w, [0, 1])
    start(alone, [1])
    qvel = w.qvel[:1].copy()
    qvel[0, 6:] = 1e12
    w.reset([0], [0], [np.random.default_rng(0)], states=(w.qpos[:1], qvel))
    w.step(np.zeros((2, 29), np.float32))
    alone.step(np.zeros((1, 29), np.float32))
    assert w.diverged.tolist() == [True, False]
    np.testing.assert_array_equal(w.qvel[0], qvel[0])
    assert w.qpos[1].tobytes() == alone.qpos[0].tobytes()
    start(w, [0, 1])
    assert not w.diverged.any()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_actions_that_are_not_finite_are_refused_before_anything_moves(worlds, bad):
    w = worlds(3)
    start(w, [0, 1, 2])
    before, actions = w.qpos.copy(), np.zeros((3, 29))
    actions[1, 4] = bad
    with pytest.raises(ValueError, match="the action of world 1 is not finite"):
        w.step(actions)
    np.testing.assert_array_equal(w.qpos, before)
    assert w.frame.tolist() == [0, 0, 0]


def test_actions_of_another_shape_are_refused(worlds):
    w = worlds(2)
    with pytest.raises(ValueError, match=r"actions have shape \(2, 28\); expected \(2, 29\): worlds and joints"):
        w.step(np.zeros((2, 28)))


def test_huge_actions_saturate(worlds):
    w = worlds(1)
    start(w, [0])
    w.step(np.full((1, 29), 1e30))
    assert not w.diverged.any()
    assert np.isfinite(w.qpos).all()


def test_closing_twice(worlds):
    w = worlds(1)
    w.close()
    w.close()
