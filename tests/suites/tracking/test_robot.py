"""The built-in G1 is the real one without its surface; any model becomes a robot with one control law."""

from __future__ import annotations

import re

import mujoco
import numpy as np
import pytest
from robots import BIPED, g1
from shared_data import shared_data

from proctor.errors import InputError
from proctor.suites.tracking.mujoco_versions import delete
from proctor.suites.tracking.robot import load_robot
from proctor.suites.tracking.robot.loading import BUILTIN


@pytest.fixture(scope="module")
def menagerie():
    root = shared_data("menagerie")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MENAGERIE_ROOT", str(root))
        return load_robot("menagerie:unitree_g1")


@pytest.fixture
def biped(tmp_path):
    path = tmp_path / "biped.xml"
    path.write_text(BIPED)
    return path


def random_qpos(robot, n, seed=0):
    rng = np.random.default_rng(seed)
    root = np.concatenate([rng.normal(size=(n, 3)), rng.normal(size=(n, 4))], axis=1)
    root[:, 3:] /= np.linalg.norm(root[:, 3:], axis=1, keepdims=True)
    return np.concatenate([root, rng.uniform(*np.clip(robot.joint_range, -3, 3).T, (n, robot.description.n_joints))], 1)


def inertia_tensors(model):
    turn = np.empty((model.nbody, 9))
    for i in range(model.nbody):
        mujoco.mju_quat2Mat(turn[i], model.body_iquat[i])
    turn = turn.reshape(-1, 3, 3)
    return turn @ (model.body_inertia[:, :, None] * turn.transpose(0, 2, 1))


def test_the_builtin_g1_has_the_joints_of_the_real_one(menagerie):
    ours, real = g1(), menagerie
    assert ours.description.joint_names == real.description.joint_names
    assert ours.body_names == real.body_names
    np.testing.assert_array_equal(ours.model.jnt_axis, real.model.jnt_axis)
    np.testing.assert_array_equal(ours.joint_range, real.joint_range)
    assert ours.fingerprint == real.fingerprint


def test_the_builtin_g1_moves_as_the_real_one(menagerie):
    data = [mujoco.MjData(robot.model) for robot in (g1(), menagerie)]
    for qpos in random_qpos(g1(), 50):
        for each, robot in zip(data, (g1(), menagerie), strict=True):
            each.qpos[:] = qpos
            mujoco.mj_kinematics(robot.model, each)
        np.testing.assert_allclose(data[0].xpos, data[1].xpos, atol=1e-6)
        np.testing.assert_allclose(data[0].xmat, data[1].xmat, atol=1e-6)


def test_the_builtin_g1_weighs_as_the_real_one(menagerie):
    ours, real = g1().model, menagerie.model
    np.testing.assert_allclose(ours.body_mass, real.body_mass, atol=1e-9)
    np.testing.assert_allclose(ours.body_ipos, real.body_ipos, atol=1e-9)
    np.testing.assert_allclose(inertia_tensors(ours), inertia_tensors(real), atol=1e-9)
    assert ours.body_mass.sum() == pytest.approx(33.341142)


def test_the_builtin_g1_has_the_feet_of_the_real_one(menagerie):
    def soles(robot):
        model = robot.model
        feet = [model.body(f"{side}_ankle_roll_link").id for side in ("left", "right")]
        touching = np.flatnonzero(np.isin(model.geom_bodyid, feet) & (model.geom_contype > 0))
        touching = touching[np.lexsort((*model.geom_pos[touching].T, model.geom_bodyid[touching]))]
        return model.geom_pos[touching], model.geom_size[touching, 0], model.geom_friction[touching, 0]

    for ours, real in zip(soles(g1()), soles(menagerie), strict=True):
        np.testing.assert_allclose(ours, real)


def test_the_g1_has_24_tracked_bodies_and_31_observed_ones():
    robot = g1()
    assert robot.description.n_joints == 29
    assert len(robot.tracked) == 24
    assert not any("wrist" in robot.body_names[i] for i in robot.tracked)
    assert len(robot.observed) == 31
    assert robot.body_names[robot.observed[-1]] == "head"
    assert (robot.body_names[robot.root], robot.body_names[robot.anchor]) == ("pelvis", "torso_link")


def test_gains_follow_from_the_motors():
    robot, names = g1().description, g1().description.joint_names
    knee, wrist = names.index("left_knee_joint"), names.index("right_wrist_yaw_joint")
    assert robot.stiffness[knee] == pytest.approx(99.098, abs=1e-3)
    assert robot.damping[knee] == pytest.approx(6.3088, abs=1e-3)
    assert (robot.effort_limit[knee], robot.effort_limit[wrist]) == (139, 5)
    np.testing.assert_allclose(robot.action_scale, 0.25 * robot.effort_limit / robot.stiffness)


@pytest.mark.parametrize("kick", [0.1, 20.0])
def test_the_torque_is_the_declared_law(kick):
    robot, description = g1(), g1().description
    data = mujoco.MjData(robot.model)
    rng = np.random.default_rng(1)
    data.qpos[:], data.qvel[6:] = random_qpos(robot, 1)[0], rng.normal(size=29)
    data.ctrl[:] = data.qpos[7:] + kick * rng.normal(size=29)
    mujoco.mj_forward(robot.model, data)
    wanted = description.stiffness * (data.ctrl - data.qpos[7:]) - description.damping * data.qvel[6:]
    limited = np.clip(wanted, -description.effort_limit, description.effort_limit)
    np.testing.assert_allclose(data.qfrc_actuator[6:], limited, rtol=1e-12)
    assert (limited != wanted).any() == (kick > 1)


def test_physics_run_at_200_hz_above_a_floor():
    robot = g1()
    assert robot.model.opt.timestep == 0.005
    data = mujoco.MjData(robot.model)
    data.qpos[:], data.ctrl[:] = robot.default_qpos, robot.description.default_pose
    for _ in range(600):
        mujoco.mj_step(robot.model, data)
    assert 0.03 < data.qpos[2] < 0.8
    assert data.ncon > 0
    assert (data.xpos[1:, 2] > -0.01).all()


def test_the_description_cannot_be_changed_by_accident():
    with pytest.raises(ValueError, match="read-only"):
        g1().description.stiffness[0] = 1.0


def test_a_model_describes_itself(biped):
    robot = load_robot("biped.xml", biped.parent)
    description = robot.description
    assert (description.name, description.joint_names) == ("biped", ("shoulder", "twist", "wrist"))
    np.testing.assert_allclose(description.default_pose, [0.3, -0.1, 0.2])
    assert description.default_height == 0.9
    np.testing.assert_allclose(description.stiffness, [60, 100, 10])
    np.testing.assert_allclose(description.damping, [3, 5, 0])
    np.testing.assert_allclose(description.effort_limit, [20, np.inf, 3])
    np.testing.assert_allclose(description.armature, [0.02, 0, 0])
    np.testing.assert_allclose(description.action_scale, [0.25 * 20 / 60, 0.25, 0.25 * 3 / 10])
    assert description.tracked_bodies == description.observed_bodies == ("trunk", "arm", "hand")
    assert description.anchor_body == description.root_body == "trunk"
    np.testing.assert_array_equal(robot.joint_range, [[-1, 2], [-2, 2], [-np.inf, np.inf]])
    assert [robot.model.actuator(i).name for i in range(robot.model.nu)] == list(description.joint_names)


def test_a_description_beside_the_model_wins_over_it_and_overrides_over_both(biped):
    biped.with_suffix(".yml").write_text(
        "name: Bob\nstiffness: {.*: 7, wrist: 8}\ndamping: 2\ntracked_bodies: [hand]\n"
        "attached_bodies: [{name: tip, parent: hand, pos: [0, 0, -0.1]}]\n"
    )
    robot = load_robot(str(biped), damping=[1, 2, 3], default_height=1.5)
    assert robot.description.name == "Bob"
    np.testing.assert_array_equal(robot.description.stiffness, [7, 7, 8])
    np.testing.assert_array_equal(robot.description.damping, [1, 2, 3])
    assert robot.body_names == ("trunk", "arm", "hand", "tip")
    assert robot.tracked.tolist() == [2]
    assert robot.default_qpos[2] == 1.5


def test_the_description_may_be_another_file_or_a_builtin_one(biped, menagerie):
    other = biped.parent / "other.yaml"
    other.write_text("armature: 0.5")
    assert load_robot(str(biped), description="other.yaml", base=biped.parent).description.armature[0] == 0.5
    path = shared_data("menagerie") / "unitree_g1" / "g1.xml"
    described = load_robot(str(path), description="builtin:g1").description
    np.testing.assert_array_equal(described.stiffness, menagerie.description.stiffness)


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ({"stifness": 3}, 'robot biped.xml: unknown key "stifness"; did you mean "stiffness"?'),
        ({"stiffness": [1, 2]}, "stiffness: found 2 values, expected 3, one for each joint"),
        ({"damping": {"elbow": 1}}, 'damping: no joint matches "elbow" (joints: shoulder, twist, wrist)'),
        ({"damping": {"wrst": 1}}, 'did you mean "wrist"?'),
        ({"damping": {"(": 1}}, '"(" is no regular expression'),
        ({"damping": float("nan")}, "damping: found nan, expected finite numbers"),
        ({"stiffness": -1}, "stiffness: found -1; expected numbers that are not negative"),
        ({"keyframe": "sit"}, 'no keyframe "sit" (known: rest)'),
        ({"root_body": "arm"}, 'root_body is "arm", but the free joint is on "trunk"'),
        ({"tracked_bodies": ["hand", "foot"]}, "tracked_bodies: no such body: foot (known: trunk, arm, hand)"),
        ({"tracked_bodies": ["hand", "hand"]}, "a body is named twice: hand"),
        ({"attached_bodies": [{"name": "x", "parent": "y", "pos": [0, 0, 0]}]}, 'cannot attach "x" to "y"'),
        ({"description": "nothing.yml"}, "no file"),
    ],
)
def test_wrong_descriptions_are_explained(biped, keys, text):
    with pytest.raises(InputError) as error:
        load_robot("biped.xml", biped.parent, **keys)
    assert text in str(error.value)


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ("<freejoint/>", '<joint name="lift"/>', "found free joints: none; expected exactly one"),
        (
            'joint name="wrist" axis="1 0 0"',
            'joint name="wrist" type="slide"',
            "found joints that are no hinges: wrist",
        ),
        ('<motor name="b" joint="twist"/>', "", "found joints without an actuator: twist"),
        ('body name="trunk"', "body", "found a joint or a root body without a name"),
        ("<worldbody>", "<worlbody>", "is no model that MuJoCo can read"),
    ],
)
def test_models_that_are_no_robot_are_explained(biped, old, new, text):
    without_keyframe = re.sub("<keyframe>.*</keyframe>", "", BIPED)
    biped.write_text(without_keyframe.replace(old, new))
    with pytest.raises(InputError) as error:
        load_robot(str(biped))
    assert text in str(error.value)


@pytest.mark.parametrize("text", ["- a list", "a: [", ""])
def test_a_description_that_is_no_mapping_is_explained(biped, text):
    biped.with_suffix(".yml").write_text(text)
    with pytest.raises(InputError, match=r"biped\.yml .*robot description"):
        load_robot(str(biped))


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ("builtin:h1", 'unknown robot "builtin:h1"; expected builtin:g1'),
        ("bipd.xml", 'did you mean "biped.xml"?'),
    ],
)
def test_unknown_robots_are_explained(biped, spec, text):
    with pytest.raises(InputError) as error:
        load_robot(spec, biped.parent)
    assert text in str(error.value)


def test_nothing_is_downloaded(tmp_path, monkeypatch):
    pytest.importorskip("mujoco_menagerie")
    monkeypatch.delenv("MENAGERIE_ROOT", raising=False)
    monkeypatch.setenv("MENAGERIE_CACHE_DIR", str(tmp_path))
    with pytest.raises(
        InputError, match=r"not on this machine; download it with `mujoco-menagerie prefetch unitree_g1`"
    ):
        load_robot("menagerie:unitree_g1")
    with pytest.raises(InputError, match="Did you mean 'unitree_g1'"):
        load_robot("menagerie:unitree_g11")
    assert list(tmp_path.iterdir()) == []


def test_a_wrong_menagerie_folder_is_explained(tmp_path, monkeypatch):
    monkeypatch.setenv("MENAGERIE_ROOT", str(tmp_path))
    with pytest.raises(InputError, match=r"MENAGERIE_ROOT must be a copy .* contains unitree_g1/g1\.xml"):
        load_robot("menagerie:unitree_g1")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"unitree_g1/g1\.xml"):
        load_robot("menagerie:unitree_g1")
    monkeypatch.delenv("MENAGERIE_ROOT")
    with pytest.raises(
        InputError, match=r'needs the package "mujoco-menagerie"; install it with: pip install "proctor'
    ):
        load_robot("menagerie:unitree_g1")


BARE = """
<mujoco model="bare"><worldbody>
  <body name="pelvis" pos="0 0 0.8"><freejoint/><geom type="sphere" size="0.1"/>
    <body name="leg"><joint name="knee" axis="0 1 0"/><geom type="sphere" size="0.05" pos="0 0 -0.5"/></body>
  </body>
</worldbody></mujoco>
"""


def test_a_bare_robot_is_told_what_it_lacks(tmp_path):
    """A file without actuators, keyframe and floor, as asset folders have them, got gains that threw it about."""
    path = tmp_path / "bare.xml"
    path.write_text(BARE)
    with pytest.raises(InputError) as refused:
        load_robot(str(path))
    said = str(refused.value)
    assert "the model has no actuators, no keyframe and no floor, and nothing says its joints' stiffness and" in said
    assert "give description_file: FILE.yml with stiffness, damping, effort_limit, armature and default_pose" in said
    assert "builtin:g1" not in said
    with pytest.raises(InputError, match=r"nothing says its joints' damping\. "):
        load_robot(str(path), stiffness=50.0)
    described = load_robot(str(path), stiffness=50.0, damping=2.0)
    assert described.description.stiffness.tolist() == [50.0]
    (tmp_path / "bare.yml").write_text("stiffness: 50\ndamping: 2\n")
    assert load_robot(str(path)).description.damping.tolist() == [2.0]


def test_a_bare_g1_is_told_of_the_description_that_is_built_in(tmp_path):
    spec = mujoco.MjSpec.from_file(str(BUILTIN))
    for group in (spec.actuators, spec.keys, spec.sensors):
        for element in list(group):
            delete(spec, element)
    path = tmp_path / "g1.xml"
    spec.compile()
    path.write_text(spec.to_xml())
    with pytest.raises(InputError, match=r"give description_file: builtin:g1 \(its joints are those of the Unitree G1"):
        load_robot(str(path))
    assert load_robot(str(path), description="builtin:g1").description.default_height == 0.76
