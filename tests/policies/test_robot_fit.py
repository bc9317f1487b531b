"""What exporters of robot policies write into an ONNX file is used; a mismatch with the task's robot is an error."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from gymnasium import spaces
from robots import g1

from proctor.config.models import AgentCfg
from proctor.errors import InputError
from proctor.policies import load_policy
from proctor.policies.protocol import Batch, SpaceInfo
from proctor.suites.tracking.options import TrackingOptions
from proctor_host.trials import Trial

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
from onnx import TensorProto, helper  # noqa: E402

EXPORTED = {
    "run_path": "entity/project/run",
    "joint_names": "hip,knee",
    "joint_stiffness": "100.000,50.000",
    "joint_damping": "2.000,1.000",
    "default_joint_pos": "0.100,-0.200",
    "command_names": "twist",
    "observation_names": "joint_pos,joint_vel",
    "action_scale": "1.000,0.125",
}
"""As mjlab and Isaac Lab write them."""
ROBOT = SimpleNamespace(
    joint_names=("hip", "knee"),
    default_pose=np.array([0.1, -0.2]),
    stiffness=np.array([100.0, 50.0]),
    damping=np.array([2.0, 1.0]),
    action_scale=np.array([0.5, 0.25]),
    anchor_body="torso_link",
)
JOINTS = spaces.Box(-np.inf, np.inf, (2,), np.float32)
GIVEN = spaces.Dict({"joint_vel": JOINTS, "extra": JOINTS, "joint_pos": JOINTS})


def save(path, metadata):
    """The action is position plus twice the velocity."""
    weights = np.vstack([np.eye(2), 2 * np.eye(2)]).astype(np.float32)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["obs", "w"], ["actions"])],
        "net",
        [helper.make_tensor_value_info("obs", TensorProto.FLOAT, ["n", 4])],
        [helper.make_tensor_value_info("actions", TensorProto.FLOAT, ["n", 2])],
        [onnx.numpy_helper.from_array(weights, "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    helper.set_model_props(model, metadata)
    onnx.save(model, str(path))


def loaded(base, exported, *, action="offset", observation=GIVEN, robot=ROBOT, **options):
    save(base / "m.onnx", exported)
    told = None
    if robot is not None:
        told = SimpleNamespace(robot=SimpleNamespace(description=robot), options=SimpleNamespace(action=action))
    info = SpaceInfo({"task": observation}, {"task": JOINTS}, {"task": lambda: told})
    return load_policy(AgentCfg(name="walker", policy="onnx", checkpoint="m.onnx", options=options), info, base)


def batch():
    rng = np.random.default_rng(0)
    observation = {name: rng.standard_normal((3, 2)).astype(np.float32) for name in GIVEN.spaces}
    return Batch(observation, None, [], [Trial("walker", "task", i, i) for i in range(3)])


def raw(given):
    return given.observation["joint_pos"] + 2 * given.observation["joint_vel"]


def test_observations_come_in_the_files_order_and_actions_in_its_scale(tmp_path):
    given = batch()
    offset = loaded(tmp_path, EXPORTED).act(given).actions
    np.testing.assert_allclose(offset, raw(given) * [2.0, 0.5], rtol=1e-6)
    absolute = loaded(tmp_path, EXPORTED, action="absolute").act(given).actions
    np.testing.assert_allclose(absolute, [0.1, -0.2] + raw(given) * [1.0, 0.125], rtol=1e-6)


def test_one_number_is_the_scale_of_all_joints(tmp_path):
    given = batch()
    actions = loaded(tmp_path, EXPORTED | {"action_scale": "0.5"}, action="absolute").act(given).actions
    np.testing.assert_allclose(actions, [0.1, -0.2] + raw(given) * 0.5, rtol=1e-6)


def test_a_task_that_tells_of_no_robot_gets_the_output_as_it_is(tmp_path):
    given = batch()
    np.testing.assert_allclose(loaded(tmp_path, EXPORTED, robot=None).act(given).actions, raw(given), rtol=1e-6)


def test_what_is_to_be_overlooked_is_not_used(tmp_path):
    given = batch()
    options = {"metadata": "ignore", "observation_order": ["joint_pos", "joint_vel"]}
    policy = loaded(tmp_path, EXPORTED | {"joint_names": "wheel"}, **options)
    np.testing.assert_allclose(policy.act(given).actions, raw(given), rtol=1e-6)


@pytest.mark.parametrize(
    ("change", "options", "text"),
    [
        ({"joint_names": "knee,hip"}, {}, "joints in another order (joint 0 is knee, the robot's is hip)"),
        ({"joint_names": "hip,wheel"}, {}, "it lacks knee and has wheel"),
        ({"joint_damping": "2,7"}, {}, "made for joint_damping 7 of knee; the robot has 1"),
        ({"default_joint_pos": "0,0"}, {}, "made for default_joint_pos"),
        (
            {"observation_names": "joint_pos,base_lin_vel"},
            {},
            'was made for the observations joint_pos, base_lin_vel; task "task" has no base_lin_vel (it has extra, '
            "joint_pos, joint_vel). Name the task's entries in the model's order with options.observation_order",
        ),
        ({}, {"action_scale": {"scale": 2.0}}, "options.action_scale would scale it again"),
    ],
)
def test_a_mismatch_is_an_error(tmp_path, change, options, text):
    with pytest.raises(InputError) as error:
        loaded(tmp_path, EXPORTED | change, **options)
    assert str(error.value).startswith('agent "walker": ')
    assert text in str(error.value)


def exported_g1(**change):
    """As an exporter writes the built-in robot, in three decimals."""
    robot = g1().description
    numbers = {
        "joint_stiffness": robot.stiffness,
        "joint_damping": robot.damping,
        "default_joint_pos": robot.default_pose,
        "action_scale": robot.action_scale,
        **change,
    }
    written = {key: ",".join(f"{value:.3f}" for value in values) for key, values in numbers.items()}
    return {"joint_names": ",".join(robot.joint_names), **written}


def loaded_g1(folder, exported, action):
    count = g1().description.n_joints
    value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", count]) for name in ("obs", "actions")]
    graph = helper.make_graph([helper.make_node("Identity", ["obs"], ["actions"])], "net", [value[0]], [value[1]])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    helper.set_model_props(model, exported)
    onnx.save(model, str(folder / "m.onnx"))
    told = SimpleNamespace(robot=g1(), options=TrackingOptions(motions="builtin:squat", action=action))
    joints = spaces.Box(-np.inf, np.inf, (count,), np.float32)
    info = SpaceInfo({"task": joints}, {"task": joints}, {"task": lambda: told})
    return load_policy(AgentCfg(name="walker", policy="onnx", checkpoint="m.onnx"), info, folder)


def test_a_policy_of_the_built_in_robot_fits_it(tmp_path):
    """What the exporter rounded away is the robot's own, to the last digit."""
    robot = g1().description
    output = np.random.default_rng(0).standard_normal((4, robot.n_joints)).astype(np.float32)
    batch = Batch(output, None, [], [Trial("walker", "task", i, i) for i in range(4)])
    assert np.array_equal(loaded_g1(tmp_path, exported_g1(), "offset").act(batch).actions, output)
    absolute = loaded_g1(tmp_path, exported_g1(), "absolute").act(batch).actions
    np.testing.assert_allclose(absolute, robot.default_pose + robot.action_scale * output, rtol=1e-6, atol=1e-6)
    doubled = loaded_g1(tmp_path, exported_g1(action_scale=2 * robot.action_scale), "offset").act(batch).actions
    np.testing.assert_allclose(doubled, 2 * output, rtol=0.02)


def test_a_policy_of_another_built_in_robot_does_not(tmp_path):
    names = list(g1().description.joint_names)
    swapped = {"joint_names": ",".join([names[1], names[0], *names[2:]])}
    with pytest.raises(InputError, match=f"in another order .joint 0 is {names[1]}, the robot's is {names[0]}"):
        loaded_g1(tmp_path, exported_g1() | swapped, "offset")
    with pytest.raises(InputError, match="made for joint_stiffness"):
        loaded_g1(tmp_path, exported_g1(joint_stiffness=2 * g1().description.stiffness), "offset")
