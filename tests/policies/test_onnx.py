"""The onnx loader, on models made with onnx.helper."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium import spaces

from proctor.config.models import AgentCfg
from proctor.errors import InputError
from proctor.policies import fingerprint, load_policy
from proctor.policies.protocol import SpaceInfo
from proctor.testing import PolicyConformance

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

WEIGHTS = np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32)


def value(name, shape, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def save(path, nodes, inputs, outputs, weights=None):
    constants = [numpy_helper.from_array(array, name) for name, array in (weights or {}).items()]
    graph = helper.make_graph(nodes, "g", inputs, outputs, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(model)
    onnx.save(model, path)


def linear(path, rows="rows", kind=TensorProto.FLOAT, dtype=np.float32):
    nodes = [helper.make_node("MatMul", ["obs", "w"], ["h"]), helper.make_node("Tanh", ["h"], ["act"])]
    weights = {"w": WEIGHTS.astype(dtype)}
    save(path, nodes, [value("obs", [rows, 4], kind)], [value("act", [rows, 3], kind)], weights)


def recurrent(path, axis=0):
    """h' = tanh(0.5 h + x + noise); the action is h'."""
    shape = ["rows", 2] if axis == 0 else [1, "rows", 2]
    nodes = [
        helper.make_node("Mul", ["h_in", "half"], ["decayed"]),
        helper.make_node("Add", ["decayed", "obs"], ["sum"]),
        helper.make_node("Add", ["sum", "noise"], ["noisy"]),
        helper.make_node("Tanh", ["noisy"], ["h_out"]),
        helper.make_node("Reshape", ["h_out", "flat"], ["act"]),
    ]
    inputs = [value("obs", ["rows", 2]), value("h_in", shape), value("noise", ["rows", 2])]
    constants = {"half": np.float32(0.5), "flat": np.array([-1, 2])}
    save(path, nodes, inputs, [value("h_out", shape), value("act", ["rows", 2])], constants)


def load(base, observation, action, **options):
    agent = AgentCfg(name="net", policy="onnx", checkpoint="m.onnx", options=options)
    return load_policy(agent, SpaceInfo({"task": observation}, {"task": action}), base)


OBSERVATION = spaces.Box(-1, 1, (4,))
ACTION = spaces.Box(-1, 1, (3,))


def test_a_linear_model_gives_what_numpy_gives(tmp_path, make_batch):
    linear(tmp_path / "m.onnx")
    x = np.random.default_rng(1).standard_normal((5, 4))
    found = load(tmp_path, OBSERVATION, ACTION).act(make_batch(x)).actions
    assert found == pytest.approx(np.tanh(x.astype(np.float32) @ WEIGHTS), rel=1e-5)


@pytest.mark.parametrize("block", [1, 3, 16])
def test_models_with_fixed_rows_run_in_blocks(tmp_path, make_batch, block):
    linear(tmp_path / "m.onnx", rows=block)
    x = np.random.default_rng(1).standard_normal((16, 4)).astype(np.float32)
    found = load(tmp_path, OBSERVATION, ACTION).act(make_batch(x)).actions
    assert found.shape == (16, 3)
    assert found == pytest.approx(np.tanh(x @ WEIGHTS), rel=1e-5)


def test_observations_are_cast_to_the_model_s_type(tmp_path, make_batch):
    linear(tmp_path / "m.onnx", kind=TensorProto.DOUBLE, dtype=np.float64)
    x = np.random.default_rng(1).standard_normal((2, 4)).astype(np.float32)
    assert load(tmp_path, OBSERVATION, ACTION).act(make_batch(x)).actions.dtype == np.float64


def test_scores_become_choices_for_discrete_actions(tmp_path, make_batch):
    linear(tmp_path / "m.onnx")
    x = np.random.default_rng(1).standard_normal((16, 4)).astype(np.float32)
    best = (x @ WEIGHTS).argmax(axis=1)
    assert (load(tmp_path, OBSERVATION, spaces.Discrete(3)).act(make_batch(x)).actions == best).all()
    shifted = load(tmp_path, OBSERVATION, spaces.Discrete(3, start=5)).act(make_batch(x)).actions
    assert (shifted == best + 5).all()
    raw = load(tmp_path, OBSERVATION, spaces.Discrete(3), discrete="none").act(make_batch(x)).actions
    assert raw.shape == (16, 3)


def test_dict_observations_go_to_inputs_of_the_same_name(tmp_path, make_batch):
    nodes = [helper.make_node("Sub", ["goal", "arm.position"], ["act"])]
    inputs = [value("goal", ["n", 2]), value("arm.position", ["n", 2])]
    save(tmp_path / "m.onnx", nodes, inputs, [value("act", ["n", 2])])
    box = spaces.Box(-9, 9, (2,))
    space = spaces.Dict({"arm": spaces.Dict({"position": box}), "goal": box, "unused": box})
    observation = {
        "arm": {"position": np.ones((2, 2))},
        "goal": np.full((2, 2), 3.0),
        "unused": np.zeros((2, 2)),
    }
    batch = make_batch({"goal": observation["goal"]})
    batch.observation = observation
    assert (load(tmp_path, space, box).act(batch).actions == 2).all()
    swapped = load(tmp_path, space, box, inputs={"goal": "unused"})
    assert (swapped.act(batch).actions == -1).all()
    with pytest.raises(InputError, match=r'finds no entry "goal" in the observation of task "task" .*options.inputs'):
        load(tmp_path, spaces.Dict({"arm": spaces.Dict({"position": box})}), box)


@pytest.mark.parametrize("axis", [0, 1])
def test_recurrent_state_starts_at_zero_and_is_carried(tmp_path, make_batch, axis):
    recurrent(tmp_path / "m.onnx", axis)
    space = spaces.Box(-1, 1, (2,))
    policy = load(tmp_path, space, space, state={"h_in": "h_out"}, state_axis=axis, noise="noise")
    x = np.full((3, 2), 0.3, np.float32)
    batch = make_batch(x)
    state = policy.reset(batch.trials)
    first = policy.act(make_batch(x, state))
    noise = make_batch(x).normal((2,), np.float32)
    assert first.actions == pytest.approx(np.tanh(x + noise), rel=1e-5)
    second = policy.act(make_batch(x, first.state))
    assert second.actions == pytest.approx(np.tanh(0.5 * first.actions + x + noise), rel=1e-5)
    assert second.state["h_in"].shape[0] == 3


class TestRecurrentLaws(PolicyConformance):
    observation_space = spaces.Box(-1, 1, (2,))
    action_space = spaces.Box(-1, 1, (2,))

    @pytest.fixture(autouse=True, params=[0, 1])
    def _folder(self, request, tmp_path):
        self.folder, self.axis = tmp_path, request.param
        recurrent(tmp_path / "m.onnx", request.param)

    def make(self):
        state = {"h_in": "h_out"}
        space = self.observation_space
        return load(self.folder, space, self.action_space, state=state, state_axis=self.axis, noise="noise")


class TestLinearLaws(PolicyConformance):
    observation_space, action_space = OBSERVATION, ACTION

    @pytest.fixture(autouse=True, params=["rows", 1, 4])
    def _folder(self, request, tmp_path):
        self.folder = tmp_path
        linear(tmp_path / "m.onnx", rows=request.param)

    def make(self):
        return load(self.folder, OBSERVATION, ACTION)


@pytest.mark.parametrize(
    ("observation", "action", "options", "message"),
    [
        (
            spaces.Box(-1, 1, (5,)),
            ACTION,
            {},
            r'wants input "obs" \(rows, 4\) float32; task "task" gives .*\(rows, 5\)',
        ),
        (
            OBSERVATION,
            spaces.Box(-1, 1, (2,)),
            {},
            r'output "act" gives \(rows, 3\), but task "task" has .*Box',
        ),
        (OBSERVATION, spaces.Discrete(4), {}, r"gives \(rows, 3\).*Discrete\(4\)"),
        (OBSERVATION, ACTION, {"input": "ob"}, r'the model has no input "ob" \(it has obs\)'),
        (OBSERVATION, ACTION, {"output": "acts"}, r'no output "acts" \(it has act\)'),
    ],
)
def test_misfits_name_both_sides(tmp_path, observation, action, options, message):
    linear(tmp_path / "m.onnx")
    with pytest.raises(InputError, match=message):
        load(tmp_path, observation, action, **options)


def test_unclear_inputs_are_named(tmp_path):
    recurrent(tmp_path / "m.onnx")
    space = spaces.Box(-1, 1, (2,))
    with pytest.raises(InputError, match="inputs obs, h_in, noise, but the observation is one array"):
        load(tmp_path, space, space)


def test_floats_are_not_cast_to_integers(tmp_path):
    nodes = [helper.make_node("Identity", ["obs"], ["act"])]
    kind = TensorProto.UINT8
    save(tmp_path / "m.onnx", nodes, [value("obs", ["n", 3], kind)], [value("act", ["n", 3], kind)])
    with pytest.raises(InputError, match="cannot be cast"):
        load(tmp_path, spaces.Box(-1, 1, (3,)), ACTION)


def test_other_files_and_devices_are_refused(tmp_path):
    (tmp_path / "m.onnx").write_bytes(b"no model")
    with pytest.raises(InputError, match=r"m\.onnx cannot be loaded by onnxruntime"):
        load(tmp_path, OBSERVATION, ACTION)
    linear(tmp_path / "m.onnx")
    agent = AgentCfg(name="net", policy="onnx", checkpoint="m.onnx", device="tpu")
    with pytest.raises(InputError, match='device "tpu" is not available to onnxruntime'):
        load_policy(agent, SpaceInfo({"task": OBSERVATION}, {"task": ACTION}), tmp_path)


def test_external_tensors_belong_to_the_identity(tmp_path):
    linear(tmp_path / "m.onnx")
    agent = AgentCfg(name="net", policy="onnx", checkpoint="m.onnx")
    assert set(fingerprint(agent, tmp_path)) == {"checkpoint"}
    (tmp_path / "m.onnx.data").write_bytes(b"x")
    assert set(fingerprint(agent, tmp_path)) == {"checkpoint", "checkpoint.data"}


def test_pipeline_and_shape_check_see_the_stacked_observation(tmp_path, make_batch):
    linear(tmp_path / "m.onnx")
    space = spaces.Box(-1, 1, (2,))
    policy = load(tmp_path, space, ACTION, frame_stack=2)
    batch = make_batch(np.ones((16, 2), np.float32))
    batch.state = policy.reset(batch.trials)
    assert policy.act(batch).actions.shape == (16, 3)
