"""An observation of one array is put into the order, scale and joints that a model file names; what a task does not
show is an error that names both sides."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

from proctor.config.models import AgentCfg
from proctor.errors import InputError
from proctor.policies import load_policy
from proctor.policies.protocol import Batch, SpaceInfo
from proctor_host.trials import Trial

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
from onnx import TensorProto, helper  # noqa: E402

ROBOT: dict[str, Any] = {
    "joint_names": ("hip", "knee", "wheel"),
    "acted": ("hip", "knee"),
    "default_pose": np.array([0.1, -0.2, 0.0]),
    "stiffness": np.array([100.0, 50.0]),
    "damping": np.array([2.0, 1.0]),
    "action_scale": np.array([0.5, 0.25]),
    "anchor_body": None,
}
TERMS: list[dict[str, Any]] = [
    {"name": "gravity", "size": 3},
    {"name": "joint_pos", "size": 3, "joints": ["hip", "knee", "wheel"], "scale": np.array([1.0, 1.0, 0.5])},
    {"name": "actions", "size": 2, "joints": ["hip", "knee"], "acted": True},
    {"name": "joint_vel", "size": 6, "joints": ["hip", "knee", "wheel"], "history": 2},
]
FILE = {
    "joint_names": "hip,knee,wheel",
    "joint_stiffness": "100.000,50.000",
    "joint_damping": "2.000,1.000",
    "default_joint_pos": "0.100,-0.200,0.000",
    "action_scale": "0.500,0.250",
    "observation_names": "gravity,joint_pos,actions,joint_vel",
    "observation_terms_scale": "1.000,1.000;1.000;0.500,1.000,1.000",
    "observation_terms_history_length": "0.000,0.000,0.000,2.000",
    "observation_terms_clip": "-inf;inf,-inf;inf,-inf;inf,-inf;inf",
}
"""What the exporter of a policy that was trained on this task writes."""
SIZE = 14


def save(path: Path, metadata: dict[str, str], weights: np.ndarray, *, clock: bool = False) -> None:
    """actions = obs @ weights"""
    ports = [helper.make_tensor_value_info("obs", TensorProto.FLOAT, [1, weights.shape[0]])]
    if clock:
        ports.append(helper.make_tensor_value_info("time_step", TensorProto.FLOAT, [1, 1]))
    nodes = [helper.make_node("MatMul", ["obs", "w"], ["actions"])]
    given = [helper.make_tensor_value_info("actions", TensorProto.FLOAT, [1, weights.shape[1]])]
    if clock:
        nodes.append(helper.make_node("Identity", ["time_step"], ["frame"]))
        given.append(helper.make_tensor_value_info("frame", TensorProto.FLOAT, [1, 1]))
    held = [onnx.numpy_helper.from_array(weights.astype(np.float32), "w")]
    graph = helper.make_graph(nodes, "net", ports, given, held)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    helper.set_model_props(model, metadata)
    onnx.save(model, str(path))


def loaded(folder: Path, said: dict[str, str], weights: np.ndarray, told: Any = None, **options: Any) -> Any:
    save(folder / "m.onnx", said, weights, clock=options.pop("clock", False))
    told = {"robot": ROBOT, "terms": TERMS} if told is None else told
    seen = sum(term["size"] for term in told.get("terms", TERMS))
    box = {"task": spaces.Box(-np.inf, np.inf, (seen,), np.float32)}
    info = SpaceInfo(box, {"task": spaces.Box(-np.inf, np.inf, (2,), np.float32)}, {"task": lambda: told})
    return load_policy(AgentCfg(name="walker", policy="onnx", checkpoint="m.onnx", options=options), info, folder)


def batch(size: int = SIZE) -> Batch:
    seen = np.random.default_rng(0).standard_normal((3, size)).astype(np.float32)
    return Batch(seen, None, [], [Trial("walker", "task", i, i) for i in range(3)])


WEIGHTS = np.random.default_rng(1).standard_normal((SIZE, 2))


def test_a_model_that_was_trained_on_the_task_gets_what_the_task_shows(tmp_path: Path) -> None:
    policy, given = loaded(tmp_path, FILE, WEIGHTS), batch()
    assert not policy.robot.shown
    assert not policy.robot.maps
    np.testing.assert_allclose(policy.act(given).actions, given.observation @ WEIGHTS, rtol=1e-4, atol=1e-5)


def moved(order: list[int], **change: str) -> tuple[dict[str, str], np.ndarray]:
    """The file and the network of the same policy, had it been trained with the terms in this order."""
    parts = np.split(WEIGHTS, np.cumsum([term["size"] for term in TERMS])[:-1])
    keys = [key for key in FILE if key.startswith("observation_")]
    files = {key: ",".join(FILE[key].split(",")[i] for i in order) for key in keys}
    return {**FILE, **files, **change}, np.concatenate([parts[i] for i in order])


@pytest.mark.parametrize("order", [[1, 0, 2, 3], [3, 2, 1, 0]])
def test_terms_in_another_order_are_the_same_policy(tmp_path: Path, order: list[int]) -> None:
    given = batch()
    answer = loaded(tmp_path, *moved(order)).act(given).actions
    np.testing.assert_allclose(answer, given.observation @ WEIGHTS, rtol=1e-4, atol=1e-5)


def test_terms_that_the_model_does_not_observe_are_left_out(tmp_path: Path) -> None:
    names = {"observation_names": "joint_pos", "observation_terms_scale": "1;1;0.5"}
    lists = {"observation_terms_history_length": "0", "observation_terms_clip": "-inf;inf"}
    given = batch()
    answer = loaded(tmp_path, {**FILE, **names, **lists}, WEIGHTS[3:6]).act(given).actions
    np.testing.assert_allclose(answer, given.observation[:, 3:6] @ WEIGHTS[3:6], rtol=1e-4, atol=1e-5)


def test_joints_in_another_order_are_the_same_policy(tmp_path: Path) -> None:
    """Of a network that was trained with wheel, knee, hip: positions, velocities of two steps, last actions and outputs
    of each joint are where that network has them."""
    change = {
        "joint_names": "wheel,knee,hip",
        "joint_stiffness": "50.000,100.000",
        "joint_damping": "1.000,2.000",
        "default_joint_pos": "0.000,-0.200,0.100",
        "action_scale": "0.250,0.500",
        "observation_terms_scale": "1.000,0.500;1.000;1.000,1.000,1.000",
    }
    rows = np.array([0, 1, 2, 5, 4, 3, 7, 6, 10, 9, 8, 13, 12, 11])
    given = batch()
    answer = loaded(tmp_path, {**FILE, **change}, WEIGHTS[rows][:, ::-1]).act(given).actions
    np.testing.assert_allclose(answer, given.observation @ WEIGHTS, rtol=1e-4, atol=1e-5)


def test_a_model_observes_its_own_outputs_and_its_own_scale(tmp_path: Path) -> None:
    """An action scale of twice the task's: actions are doubled, and what it sees of the last one is halved again. An
    observation that it had scaled by 10 is multiplied with 10."""
    scales = {"action_scale": "1.000,0.500", "observation_terms_scale": "10.000,1.000;1.000;0.500,1.000,1.000"}
    given = batch()
    answer = loaded(tmp_path, {**FILE, **scales}, WEIGHTS).act(given).actions
    shown = given.observation.copy()
    shown[:, 6:8] /= 2
    shown[:, :3] *= 10
    np.testing.assert_allclose(answer, 2 * shown @ WEIGHTS, rtol=1e-4, atol=1e-5)


def test_what_rounding_took_away_is_no_other_scale(tmp_path: Path) -> None:
    told = {"robot": {**ROBOT, "action_scale": np.array([0.50004, 0.24996])}, "terms": TERMS}
    policy = loaded(tmp_path, FILE, WEIGHTS, told)
    assert not policy.robot.shown
    assert not policy.robot.maps


def test_the_clock_of_a_bundled_motion_is_nobodys_observation(tmp_path: Path) -> None:
    given = batch()
    answer = loaded(tmp_path, FILE, WEIGHTS, clock=True).act(given).actions
    np.testing.assert_allclose(answer, given.observation @ WEIGHTS, rtol=1e-4, atol=1e-5)
    with pytest.raises(InputError, match="the model has the inputs obs, time_step, but the observation is one array"):
        loaded(tmp_path, FILE, WEIGHTS, clock=True, metadata="ignore")


def test_a_task_that_tells_of_terms_alone_has_them_put_in_order(tmp_path: Path) -> None:
    metadata, weights = moved([2, 1, 0, 3])
    only = {key: value for key, value in metadata.items() if key.startswith("observation_")}
    given = batch()
    answer = loaded(tmp_path, only, weights, {"terms": TERMS}).act(given).actions
    np.testing.assert_allclose(answer, given.observation @ WEIGHTS, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"observation_names": "gravity,joint_pos,actions,height_scan"},
            "the model observes gravity, joint_pos, actions, height_scan; the task has no height_scan (it shows "
            "gravity, joint_pos, actions, joint_vel). Was it trained on another task?",
        ),
        (
            {"observation_terms_history_length": "0,0,0,5"},
            "the model observes joint_vel over 5 steps; the task shows 2",
        ),
        (
            {"observation_terms_clip": "-1;1,-inf;inf,-inf;inf,-inf;inf"},
            "the model observes gravity clipped to -1 to 1; the task clips it to nothing",
        ),
        (
            {"observation_terms_scale": "1,1;1,1,1"},
            "the model has 2 scales of joint_pos; the task shows 3 entries",
        ),
        ({"observation_terms_scale": "1,1"}, "observation_terms_scale has 2 entries; it observes 4 terms"),
        ({"observation_terms_scale": "1,a,1,1"}, "the model's term joint_pos has the scale a"),
        ({"joint_names": "hip,knee,foot"}, "the model's joints are of another robot: it lacks wheel and has foot"),
        (
            {"joint_stiffness": "100,60"},
            "made for joint_stiffness 60 of knee; the robot has 50. Was it trained on another robot",
        ),
        ({"anchor_body_name": "torso"}, "made for the anchor torso, the robot's is None"),
    ],
)
def test_what_the_task_cannot_show_is_named(tmp_path: Path, change: dict[str, str], said: str) -> None:
    with pytest.raises(InputError) as caught:
        loaded(tmp_path, {**FILE, **change}, WEIGHTS)
    assert said in str(caught.value)
