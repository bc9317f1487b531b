"""The loader `tracking/mjlab`, on a small ONNX file with the metadata, inputs and outputs of an mjlab export."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

from proctor import config_from_dict, run_evaluation
from proctor.config.models import AgentCfg
from proctor.errors import InputError
from proctor.policies import load_policy
from proctor.policies.protocol import Batch, SpaceInfo
from proctor.suites.tracking.motions import load_motions
from proctor.suites.tracking.options import TrackingOptions
from proctor.suites.tracking.robot import load_robot
from proctor.suites.tracking.robot.loading import BUILTIN
from proctor.suites.tracking.suite import TrackingSuite
from proctor_host.trials import Trial

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

TERMS = {
    "command": 58, "motion_anchor_pos_b": 3, "motion_anchor_ori_b": 6, "base_lin_vel": 3, "base_ang_vel": 3,
    "joint_pos": 29, "joint_vel": 29, "actions": 29,
}  # fmt: skip
GROUPS = ("state", "reference", "qpos", "qvel")
TRIALS = [Trial("theirs", "t", 0, 0)]


def digits(values: Any) -> str:
    return ",".join(f"{value:.3f}" for value in values)


def metadata(**changed: str | None) -> dict[str, str]:
    robot = load_robot("builtin:g1").description
    said: dict[str, str | None] = {
        "run_path": "local",
        "joint_names": ",".join(robot.joint_names),
        "joint_stiffness": digits(robot.stiffness),
        "joint_damping": digits(robot.damping),
        "default_joint_pos": digits(robot.default_pose),
        "command_names": "motion",
        "observation_names": ",".join(TERMS),
        "observation_terms_scale": digits([1.0] * len(TERMS)),
        "observation_terms_flatten_history_dim": digits([1.0] * len(TERMS)),
        "observation_terms_history_length": digits([0.0] * len(TERMS)),
        "observation_terms_clip": ",".join(["-inf;inf"] * len(TERMS)),
        "action_scale": digits(robot.action_scale),
        "anchor_body_name": "torso_link",
        "body_names": "pelvis,torso_link",
        **changed,
    }
    return {key: value for key, value in said.items() if value is not None}


def exported(folder: Path, said: dict[str, str], width: int = sum(TERMS.values())) -> Path:
    """A network of one row: actions are the observation times a matrix; the bundled motion depends on `time_step`."""
    weights = np.random.default_rng(0).normal(0, 0.02, (width, 29)).astype(np.float32)
    nodes = [helper.make_node("MatMul", ["obs", "w"], ["actions"])]
    nodes += [helper.make_node("Identity", ["time_step"], ["joint_pos"])]
    shapes = {"obs": [1, width], "time_step": [1, 1], "actions": [1, 29], "joint_pos": [1, 1]}
    ports = {name: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()}
    inputs, outputs = [ports["obs"], ports["time_step"]], [ports["actions"], ports["joint_pos"]]
    graph = helper.make_graph(nodes, "g", inputs, outputs, [numpy_helper.from_array(weights, "w")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    helper.set_model_props(model, said)
    onnx.save(model, folder / "policy.onnx")
    return folder / "policy.onnx"


class Bench:
    """One world that follows a motion, and the policy that is loaded for it."""

    def __init__(self, path: Path, motions: str = "procedural:kick", **options: Any):
        self.cfg = TrackingOptions.model_validate({"motions": motions, "observations": GROUPS, **options})
        self.env = TrackingSuite().make(self.cfg, render=False, worlds=1)
        spaces = SpaceInfo(
            {"t": self.env.observation_space},
            {"t": self.env.action_space},
            {"t": lambda: TrackingSuite().briefing(self.cfg)},
        )
        self.policy: Any = load_policy(AgentCfg(name="theirs", policy="tracking/mjlab", checkpoint=str(path)), spaces)
        (self.seen,), self.state = self.env.reset([0], [0], [0]), self.policy.reset(TRIALS)

    @property
    def batch(self) -> Batch:
        rows = {name: np.asarray(value)[None] for name, value in self.seen.items()}
        return Batch(rows, self.state, [np.random.default_rng(0)], TRIALS)

    def terms(self) -> dict[str, np.ndarray]:
        ends = np.cumsum(list(TERMS.values()))[:-1]
        return dict(zip(TERMS, np.split(self.policy.observe("t", self.batch, slice(None))[0], ends), strict=True))

    def step(self) -> Any:
        answer = self.policy.act(self.batch)
        self.state = answer.state
        self.seen = self.env.step({0: np.asarray(answer.actions)[0]})[0].observation
        return answer


def test_it_sees_what_sensors_of_the_simulator_say(tmp_path: Path) -> None:
    """A velocimeter and a gyroscope where the G1 has its inertial sensor, and the reference one frame ahead."""
    bench = Bench(exported(tmp_path, metadata()))
    robot, reference = load_robot("builtin:g1"), TrackingSuite().briefing(bench.cfg).library.reference(0)
    spec = mujoco.MjSpec.from_file(str(BUILTIN))
    spec.body("pelvis").add_site(name="imu", pos=[0.04525, 0.0, -0.08339])
    for kind in (mujoco.mjtSensor.mjSENS_VELOCIMETER, mujoco.mjtSensor.mjSENS_GYRO):
        spec.add_sensor(type=kind, objtype=mujoco.mjtObj.mjOBJ_SITE, objname="imu")
    model = spec.compile()
    data = mujoco.MjData(model)
    for step in range(4):
        terms = bench.terms()
        data.qpos[:], data.qvel[:] = bench.seen["qpos"], bench.seen["qvel"]
        mujoco.mj_forward(model, data)
        np.testing.assert_allclose(terms["base_lin_vel"], data.sensordata[-6:-3], atol=1e-5)
        np.testing.assert_allclose(terms["base_ang_vel"], data.sensordata[-3:], atol=1e-5)
        expected = np.concatenate([reference.qpos[step + 1, 7:], reference.qvel[step + 1, 6:]])
        np.testing.assert_allclose(terms["command"], expected, atol=1e-5)
        np.testing.assert_allclose(terms["joint_pos"], data.qpos[7:] - robot.description.default_pose, atol=1e-5)
        np.testing.assert_allclose(terms["joint_vel"], data.qvel[6:], atol=1e-5)
        torso = data.body("torso_link")
        ahead = reference.body_pos[step + 1, robot.anchor] - torso.xpos
        np.testing.assert_allclose(terms["motion_anchor_pos_b"], torso.xmat.reshape(3, 3).T @ ahead, atol=1e-5)
        bench.step()


def test_it_is_shown_what_it_gave_last_before_that_was_made_an_action(tmp_path: Path) -> None:
    robot = load_robot("builtin:g1").description
    bench = Bench(exported(tmp_path, metadata(action_scale="0.25")))
    assert not bench.terms()["actions"].any()
    answer = bench.step()
    np.testing.assert_array_equal(bench.terms()["actions"], answer.state[0])
    np.testing.assert_allclose(answer.actions[0] * robot.action_scale, 0.25 * answer.state[0], rtol=1e-5)


def test_terms_are_scaled_as_the_file_says(tmp_path: Path) -> None:
    plain = Bench(exported(tmp_path, metadata())).terms()
    scales = digits([1, 1, 1, 2, 0.25, 1, 1, 1])
    scaled = Bench(exported(tmp_path, metadata(observation_terms_scale=scales))).terms()
    np.testing.assert_allclose(scaled["base_ang_vel"], 0.25 * plain["base_ang_vel"], rtol=1e-6)
    np.testing.assert_allclose(scaled["base_lin_vel"], 2.0 * plain["base_lin_vel"], rtol=1e-6)
    np.testing.assert_array_equal(scaled["command"], plain["command"])


def test_it_runs_with_no_code(tmp_path: Path) -> None:
    agents = [{"name": "theirs", "policy": "tracking/mjlab", "checkpoint": str(exported(tmp_path, metadata()))}]
    options = {"motions": ["procedural:squat", "procedural:wave"], "observations": GROUPS, "max_episode_length_s": 0.2}
    tasks = [{"suite": "tracking", "options": options}]
    raw = {"agents": agents, "tasks": tasks, "output_root": str(tmp_path / "runs"), "workers": "inline"}
    run = run_evaluation(config_from_dict(raw, tmp_path))
    assert [result.outcome.scored for result in run.results()] == [True, True]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"observation_names": None}, r"policy.onnx does not say what it observes and of which robot"),
        ({"observation_names": "command,height_scan"}, r"observes height_scan, which a tracking task does not have"),
        ({"observation_names": "command,joint_pos"}, r"the terms that it names have 87 entries together"),
        ({"observation_terms_history_length": digits([5.0] * 8)}, r"observes command with a history of 5 steps"),
        (
            {"observation_terms_clip": ",".join(["-1.0;1.0"] * 8)},
            r"clipped to -1;1; only terms of the current step",
        ),
        ({"observation_terms_scale": "1.0"}, r"observation_terms_scale has 1 entries; it observes 8 terms"),
        ({"joint_damping": digits([9.0] * 29)}, r"the model was made for joint_damping 9 of"),
        ({"anchor_body_name": "pelvis"}, r"made for the anchor pelvis, the robot's is torso_link"),
    ],
)
def test_what_does_not_fit_is_named(tmp_path: Path, changed: dict[str, str | None], said: str) -> None:
    if changed.keys() == {"observation_names"}:
        of_terms = ("scale", "flatten_history_dim", "history_length", "clip")
        changed = {**changed, **{f"observation_terms_{key}": None for key in of_terms}}
    with pytest.raises(InputError, match=said):
        Bench(exported(tmp_path, metadata(**changed)))


def test_a_task_that_gives_less_is_told_what_to_set(tmp_path: Path) -> None:
    path = exported(tmp_path, metadata())
    for options in ({"observations": ("state",)}, {"reference_offsets": (0, 5)}):
        with pytest.raises(InputError, match=r"set its options to observations: \[state, reference, qpos, qvel\] and"):
            Bench(path, **options)


def test_a_scene_whose_parts_have_the_robots_name_before_theirs(tmp_path: Path) -> None:
    """As mjlab exports scenes: `robot/left_knee_joint`, with classes of that name, too."""
    outer = mujoco.MjSpec()
    outer.attach(mujoco.MjSpec.from_file(str(BUILTIN)), prefix="robot/", frame=outer.worldbody.add_frame())
    path = tmp_path / "scene.xml"
    path.write_text(outer.to_xml())
    assert "robot/left_knee_joint" in path.read_text()
    found = load_robot(str(path), description="builtin:g1").description
    assert found.joint_names == load_robot("builtin:g1").description.joint_names
    assert found.root_body == "pelvis"
    bench = Bench(exported(tmp_path, metadata()), robot=str(path), description_file="builtin:g1")
    bench.step()


def with_motion(folder: Path, frames: int = 40) -> tuple[Path, dict[str, np.ndarray]]:
    """A policy with a motion beside its network, as mjlab's exporter puts it there, and that motion as arrays."""
    reference = load_motions(["procedural:kick"], load_robot("builtin:g1")).reference(0)
    bodies = [load_robot("builtin:g1").body_index(name) for name in ("torso_link", "pelvis")]
    tables = {
        "joint_pos": reference.qpos[:frames, 7:],
        "joint_vel": reference.qvel[:frames, 6:],
        "body_pos_w": reference.body_pos[:frames, bodies],
        "body_quat_w": reference.body_quat[:frames, bodies],
        "body_lin_vel_w": reference.body_lin_vel[:frames, bodies],
        "body_ang_vel_w": reference.body_ang_vel[:frames, bodies],
    }
    tables = {name: np.asarray(table, np.float32) for name, table in tables.items()}
    model = onnx.load(exported(folder, metadata(body_names="torso_link,pelvis")))
    graph = model.graph
    del graph.node[1:], graph.output[1:]
    for name, table in tables.items():
        graph.initializer.append(numpy_helper.from_array(table, f"table/{name}"))
        graph.node.append(helper.make_node("Gather", [f"table/{name}", "frame"], [name], axis=0))
        graph.output.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, *table.shape[1:]]))
    graph.initializer.append(numpy_helper.from_array(np.array(frames - 1, np.int64), "last"))
    graph.initializer.append(numpy_helper.from_array(np.array([1], np.int64), "axes"))
    steps = [("Cast", ["time_step"], "counted"), ("Squeeze", ["counted", "axes"], "flat")]
    steps.append(("Min", ["flat", "last"], "frame"))
    for place, (kind, given, made) in enumerate(steps):
        more = {"to": TensorProto.INT64} if kind == "Cast" else {}
        graph.node.insert(1 + place, helper.make_node(kind, given, [made], **more))
    onnx.checker.check_model(model)
    onnx.save(model, folder / "policy.onnx")
    return folder / "policy.onnx", tables


@pytest.mark.parametrize("frames", [3, 33, 64])
def test_the_motion_in_a_policys_file_is_the_motion_of_its_own_file(tmp_path: Path, frames: int) -> None:
    path, tables = with_motion(tmp_path, frames)
    whole = {name: table[:, ::-1] if name.startswith("body") else table for name, table in tables.items()}
    np.savez(tmp_path / "motion.npz", fps=[30], **whole)
    robot, options = load_robot("builtin:g1"), {"fps": 50, "velocities": "file"}
    inside = load_motions([{"path": str(path), **options}], robot).reference(0)
    beside = load_motions([{"path": str(tmp_path / "motion.npz"), **options}], robot).reference(0)
    assert inside.name == "policy"
    assert len(inside) == len(beside)
    for name in ("qpos", "qvel", "body_pos", "body_quat", "body_lin_vel", "body_ang_vel"):
        assert np.array_equal(getattr(inside, name), getattr(beside, name)), name


def test_one_file_is_policy_and_motion(tmp_path: Path) -> None:
    """The same episode, to the byte, as with the motion in a file of its own."""
    path, tables = with_motion(tmp_path)
    whole = {name: table[:, ::-1] if name.startswith("body") else table for name, table in tables.items()}
    np.savez(tmp_path / "motion.npz", fps=[50], **whole)
    digests = []
    for motions in (path, tmp_path / "motion.npz"):
        given = {"path": str(motions), "fps": 50, "velocities": "file"}
        tasks = [{"suite": "tracking", "name": "t", "options": {"motions": [given], "observations": list(GROUPS)}}]
        agents = [{"name": "theirs", "policy": "tracking/mjlab", "checkpoint": str(path)}]
        cfg = {"agents": agents, "tasks": tasks, "output_root": str(tmp_path / "runs")}
        run = run_evaluation(config_from_dict(cfg))
        (result,) = run.results()
        signals = run.signals(result)
        digests.append((result.steps_total, signals["actions"].tobytes(), signals["rewards"].tobytes()))
    assert digests[0] == digests[1]


def test_a_file_that_wants_too_much_memory_is_refused(tmp_path: Path) -> None:
    path, _ = with_motion(tmp_path)
    model = onnx.load(path)
    model.graph.input.append(helper.make_tensor_value_info("vast", TensorProto.FLOAT, [1 << 20, 1 << 20]))
    onnx.save(model, path)
    with pytest.raises(InputError, match=r"its input vast has shape \[1048576, 1048576\]; expected 1,000,000 numbers"):
        load_motions([{"path": str(path), "fps": 50}], load_robot("builtin:g1"))


def test_a_file_that_carries_no_motion_says_so(tmp_path: Path) -> None:
    robot = load_robot("builtin:g1")
    plain = exported(tmp_path, metadata())
    with pytest.raises(InputError, match="carries no motion: expected the input time_step and the outputs joint_pos"):
        load_motions([{"path": str(plain), "fps": 50}], robot)
    path, _ = with_motion(tmp_path)
    with pytest.raises(InputError, match="does not say how many frames a second its motion has: set the option fps"):
        load_motions([str(path)], robot)
    model = onnx.load(path)
    helper.set_model_props(model, metadata(body_names="torso_link,foot"))
    onnx.save(model, path)
    with pytest.raises(InputError, match="has 2 bodies, which its metadata call torso_link, foot; expected as many"):
        load_motions([{"path": str(path), "fps": 50}], robot)
