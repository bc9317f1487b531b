"""Motions without files could be done by the robot: on the floor, within limits, balanced, smooth."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from robots import BIPED, g1

from proctor.errors import InputError
from proctor.suites.tracking.motions import load_motions
from proctor.suites.tracking.motions.procedural import make_procedural, procedural
from proctor.suites.tracking.motions.recipes import RECIPES, hump, through
from proctor.suites.tracking.robot import load_robot

NAMES = ("squat", "wave", "sway", "bow", "step_in_place", "reach", "turn", "kick")


@pytest.fixture(scope="module", params=[0, 3])
def library(request):
    return load_motions(f"procedural:all?seed={request.param}", g1())


def soles(robot, qpos):
    """Contact points of both feet (T, 2, 4, 3) and the centre of mass (T, 3)."""
    model, data = robot.model, mujoco.MjData(robot.model)
    feet = [model.body(f"{side}_ankle_roll_link").id for side in ("left", "right")]
    geoms = [np.flatnonzero((model.geom_bodyid == foot) & (model.geom_contype > 0)) for foot in feet]
    points, com = np.empty((len(qpos), 2, 4, 3)), np.empty((len(qpos), 3))
    for t, state in enumerate(qpos):
        data.qpos[:] = state
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        points[t], com[t] = data.geom_xpos[np.array(geoms)], data.subtree_com[1]
    points[..., 2] -= model.geom_size[geoms[0][0], 0]
    return points, com


def test_there_are_eight(library):
    assert tuple(name.split("-")[0] for name in library.names) == NAMES == tuple(RECIPES)
    assert ((library.lengths * 0.02 >= 4) & (library.lengths * 0.02 <= 8)).all()


def test_they_begin_at_rest_in_the_default_pose(library):
    for i in range(len(library)):
        reference = library.reference(i)
        np.testing.assert_allclose(reference.joint_pos[0], g1().description.default_pose, atol=1e-6)
        np.testing.assert_allclose(reference.joint_pos[-1], g1().description.default_pose, atol=1e-3)
        np.testing.assert_allclose(reference.qvel[0], 0, atol=1e-6)


def test_they_keep_the_joints_within_limits(library):
    lower, upper = g1().joint_range.T
    joints = library.frames.joint_pos
    assert (joints > lower + 0.01).all()
    assert (joints < upper - 0.01).all()


def test_they_are_smooth(library):
    assert np.abs(library.frames.joint_vel).max() < 6
    for i in range(len(library)):
        reference = library.reference(i)
        assert np.abs(np.diff(reference.joint_vel, axis=0)).max() / 0.02 < 60, reference.name
        assert np.abs(np.diff(reference.qvel[:, :3], axis=0)).max() / 0.02 < 8, reference.name


def test_the_lowest_sole_touches_the_floor(library):
    points, _ = soles(g1(), library.frames.qpos)
    np.testing.assert_allclose(points[..., 2].min(axis=(1, 2)), 0, atol=1e-3)


def test_the_centre_of_mass_is_above_the_feet_that_touch(library):
    points, com = soles(g1(), library.frames.qpos)
    near = points[..., 2].min(axis=2) < 0.02
    for corner, sign in (("min", -1), ("max", 1)):
        reach = getattr(points[..., :2], corner)(axis=2)
        edge = np.where(near[..., None], reach, -sign * np.inf)
        edge = edge.min(axis=1) if corner == "min" else edge.max(axis=1)
        assert (sign * (com[:, :2] - edge) < 0.0).all()


def test_feet_that_touch_hardly_slide(library):
    for i in range(len(library)):
        reference = library.reference(i)
        points, _ = soles(g1(), reference.qpos)
        resting = points[..., 2].max(axis=2) < 0.002
        speed = np.linalg.norm(np.diff(points[..., :2].mean(axis=2), axis=0), axis=2) / 0.02
        assert speed[resting[1:] & resting[:-1]].max(initial=0) < 0.1, reference.name


def body(reference, name):
    return reference.body_pos[:, g1().body_index(name)]


def test_they_do_what_they_are_called(library):
    by_name = {name.split("-")[0]: library.reference(i) for i, name in enumerate(library.names)}
    assert np.ptp(by_name["squat"].root_pos[:, 2]) > 0.06
    hands = [body(by_name["wave"], f"{side}_wrist_yaw_link")[:, 2].max() for side in ("left", "right")]
    assert max(hands) > 1.1
    assert np.ptp(by_name["sway"].root_pos[:, 1]) > 0.1
    head = body(by_name["bow"], "head")
    assert head[:, 2].min() < head[0, 2] - 0.1
    for side in ("left", "right"):
        assert np.ptp(body(by_name["step_in_place"], f"{side}_ankle_roll_link")[:, 2]) > 0.05
    reached = [np.ptp(body(by_name["reach"], f"{side}_wrist_yaw_link")[:, 0]) for side in ("left", "right")]
    assert max(reached) > 0.2
    w, _, _, z = by_name["turn"].root_quat[-1]
    assert abs(2 * np.arctan2(z, w)) > 0.4
    kicked = [np.ptp(body(by_name["kick"], f"{side}_ankle_roll_link")[:, 0]) for side in ("left", "right")]
    assert max(kicked) > 0.2


def test_a_seed_makes_another_motion_of_the_same_kind():
    first, again, other = (procedural("sway", g1(), seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.joint_pos, again.joint_pos)
    assert (first.name, other.name) == ("sway-seed1", "sway-seed2")
    assert first.joint_pos.shape != other.joint_pos.shape or not np.allclose(first.joint_pos, other.joint_pos)
    assert load_motions(["procedural:sway", "procedural:sway?seed=2"], g1()).names == ("sway", "sway-seed2")


def test_other_robots_are_told_what_is_missing(tmp_path):
    path = tmp_path / "biped.xml"
    path.write_text(BIPED)
    with pytest.raises(
        InputError, match=r"need joints named as on the Unitree G1; biped has no left_ankle_pitch_joint"
    ):
        make_procedural("squat", load_robot(str(path)))


def test_curves_go_through_their_points_at_rest():
    t = np.linspace(0, 4, 401)
    curve = through(t, [(1, 2.0), (2, -1.0), (3, 0.0)])
    np.testing.assert_allclose(curve[[0, 100, 200, 300, 400]], [2, 2, -1, 0, 0], atol=1e-12)
    speed = np.gradient(curve, t)
    np.testing.assert_allclose(speed[[50, 100, 200, 300, 350]], 0, atol=1e-2)
    assert hump(t, 1, 3, 0.5).max() == 1
    np.testing.assert_array_equal(hump(t, 1, 3)[[0, 100, 300, 400]], 0)
