"""Contexts, and the `latent` loader, on a task in small: 2 joints, motions of 5, 3 and 9 frames."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given
from hypothesis import strategies as st

from proctor.config.models import AgentCfg
from proctor.errors import InputError
from proctor.policies import fingerprint, load_policy
from proctor.policies.latent import context_table, look_ahead, project_z
from proctor.policies.protocol import Batch, SpaceInfo
from proctor_host.trials import Trial

LENGTHS = np.array([5, 3, 9])
JOINTS = ("hip", "knee")


def reference(motion):
    """A state that says which motion and frame it is: no two are alike."""
    frames = np.arange(LENGTHS[motion], dtype=float)
    return {"state": np.stack([1.0 + motion + 0 * frames, 1.0 + frames, 0 * frames], axis=1)}


class Library:
    lengths = LENGTHS

    def __len__(self):
        return len(self.lengths)


def briefing(action="offset", joints=JOINTS):
    description = SimpleNamespace(
        joint_names=joints, n_joints=len(joints), default_pose=np.array([0.1, -0.2]),
        action_scale=np.array([0.5, 0.25]), stiffness=np.array([100.0, 50.0]), damping=np.array([2.0, 1.0]),
        anchor_body="torso_link",
    )  # fmt: skip
    return SimpleNamespace(
        robot=SimpleNamespace(description=description),
        options=SimpleNamespace(action=action),
        library=Library(),
        reference_observations=reference,
    )


def info(task="track", **keys):
    told = briefing(**keys)
    observation = spaces.Dict(
        {
            "state": spaces.Box(-np.inf, np.inf, (3,), np.float32),
            "motion": spaces.Box(0, 2, (), np.int64),
            "frame": spaces.Box(0, 8, (), np.int64),
        }
    )
    return SpaceInfo({task: observation}, {task: spaces.Box(-np.inf, np.inf, (2,))}, {task: lambda: told})


def batch(motions, frames, task="track"):
    rows = len(motions)
    observation = {
        "state": np.full((rows, 3), 0.5, np.float32),
        "motion": np.array(motions),
        "frame": np.array(frames),
    }
    trials = [Trial("a", task, i, i) for i in range(rows)]
    return Batch(observation, None, [t.policy_rng() for t in trials], trials)


def expected(motions, frames):
    """What the models below do by hand: z of the frame, projected; the action is its first two numbers, plus 0.5."""
    z = np.array([[1.0 + m, 1.0 + f, 0.0] for m, f in zip(motions, frames, strict=True)])
    return (np.sqrt(3) * z / np.linalg.norm(z, axis=1, keepdims=True))[:, :2] + 0.5


MOTIONS, FRAMES = [0, 2, 1, 2, 0], [1, 8, 2, 1, 4]


class Numpy:
    def __init__(self):
        self.calls = []

    def backward_map(self, obs):
        self.calls.append(len(obs["state"]))
        return obs["state"]

    def project_z(self, z):
        return project_z(z)


def packed():
    return {"state": np.concatenate([reference(m)["state"][1:] for m in range(3)])}


def test_the_context_of_a_step_is_of_the_frame_it_leads_to():
    model = Numpy()
    table = context_table(model, packed(), LENGTHS - 1)
    np.testing.assert_allclose(
        table.gather(np.array(MOTIONS), np.array(FRAMES))[:, :2] + 0.5, expected(MOTIONS, FRAMES)
    )
    assert model.calls == [4 + 2 + 8]


def test_beyond_the_ends_the_nearest_context_holds():
    table = context_table(Numpy(), packed(), LENGTHS - 1)
    ends = table.gather(np.array([1, 1, 1, 1]), np.array([0, 1, 2, 77]))
    np.testing.assert_array_equal(ends[[0, 3]], ends[[1, 2]])


def test_blocks_give_what_one_call_gives(monkeypatch):
    whole = context_table(Numpy(), packed(), LENGTHS - 1, window=3).z
    monkeypatch.setattr("proctor.policies.latent.ROWS_AT_ONCE", 4)
    model = Numpy()
    np.testing.assert_array_equal(context_table(model, packed(), LENGTHS - 1, window=3).z, whole)
    assert model.calls == [4, 4, 4, 2]


@given(st.integers(1, 12), st.lists(st.integers(1, 6), min_size=1, max_size=4))
def test_smoothing_averages_ahead_within_a_motion(window, counts):
    z = np.random.default_rng(0).normal(size=(sum(counts), 2))
    smooth = look_ahead(z, np.array(counts), window)
    start = 0
    for count in counts:
        for row in range(start, start + count):
            ahead = z[row : min(row + window, start + count)]
            np.testing.assert_allclose(smooth[row], ahead.mean(0))
        start += count


def test_a_window_of_one_changes_nothing():
    z = np.random.default_rng(0).normal(size=(6, 2))
    assert look_ahead(z, np.array([4, 2]), 1) is z


def test_projection():
    z = np.array([[3.0, 4.0], [0.0, 0.0]])
    np.testing.assert_allclose(project_z(z), [[np.sqrt(2) * 0.6, np.sqrt(2) * 0.8], [0.0, 0.0]])


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (lambda s: s[:3], r"gave \(3, 3\) for 14 frames; expected one z per frame, \(14, d\)"),
        (lambda s: np.where(np.arange(14)[:, None] == 5, np.nan, s), "NaN or infinity, first for frame 5 of 14"),
    ],
)
def test_a_table_that_is_none(answer, text):
    model = Numpy()
    model.backward_map = lambda obs: answer(obs["state"])
    with pytest.raises(InputError, match=text):
        context_table(model, packed(), LENGTHS - 1)


def test_a_motion_of_one_frame():
    with pytest.raises(InputError, match="one frame has nothing to track"):
        context_table(Numpy(), packed(), np.array([4, 0]))


def torch_model(tmp_path):
    torch = pytest.importorskip("torch")
    (tmp_path / "net.py").write_text(
        "import torch\n"
        "class Net(torch.nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.shift = torch.nn.Parameter(torch.zeros(1))\n"
        "    def backward_map(self, obs):\n"
        "        return obs['state'] + 0 * self.shift\n"
        "    def project_z(self, z):\n"
        "        return z.shape[-1] ** 0.5 * torch.nn.functional.normalize(z, dim=-1)\n"
        "    def act(self, obs, z, mean=True):\n"
        "        assert mean and not self.training\n"
        "        return z[:, :2] + self.shift\n"
    )
    torch.save({"model": {"shift": torch.tensor([0.5])}}, tmp_path / "net.pt")
    options = {"module": "net.py:Net", "state_dict_key": "model"}
    return AgentCfg(name="a", policy="latent", checkpoint="net.pt", options=options)


def scripted(tmp_path):
    torch = pytest.importorskip("torch")

    class Net(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x

        @torch.jit.export
        def backward_map(self, obs: dict[str, torch.Tensor]) -> torch.Tensor:
            return obs["state"]

        @torch.jit.export
        def act(self, obs: dict[str, torch.Tensor], z: torch.Tensor, mean: bool = True) -> torch.Tensor:
            return z[:, :2] + obs["state"][:, :2]

    save_script(Net(), tmp_path / "net.pt")
    return AgentCfg(name="a", policy="latent", checkpoint="net.pt", options={"trust": True})


def save_script(module, path):
    import warnings

    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.jit.script(module).save(str(path))


def script_pair(tmp_path):
    torch = pytest.importorskip("torch")

    class Backward(torch.nn.Module):
        def forward(self, obs: dict[str, torch.Tensor]) -> torch.Tensor:
            return obs["state"]

    class Actor(torch.nn.Module):
        def forward(self, state: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
            return z[:, :2] + state[:, :2]

    save_script(Backward(), tmp_path / "b.pt")
    save_script(Actor(), tmp_path / "a.pt")
    options = {"backward_file": "b.pt", "actor_file": "a.pt", "actor_inputs": {"state": "state", "z": "z"}}
    return AgentCfg(name="a", policy="latent", options={**options, "trust": True})


def save_onnx(path, port, nodes, output, metadata):
    """A network of one input and one output, each (name, (rows, width)); c0 to c6 are whole numbers."""
    onnx = pytest.importorskip("onnx")
    from onnx import TensorProto, helper

    constants = [helper.make_tensor(f"c{v}", TensorProto.INT64, [1], [v]) for v in range(7)]
    graph = helper.make_graph(
        [helper.make_node(*node) for node in nodes],
        "net",
        [helper.make_tensor_value_info(port[0], TensorProto.FLOAT, port[1])],
        [helper.make_tensor_value_info(output[0], TensorProto.FLOAT, output[1])],
        [*constants, helper.make_tensor("half", TensorProto.FLOAT, [1], [0.5])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    helper.set_model_props(model, metadata)
    onnx.save(model, str(path))


def onnx_pair(tmp_path, metadata=None, rows="n"):
    identity = [("Identity", ["state"], ["latent"])]
    save_onnx(tmp_path / "b.onnx", ("state", (rows, 3)), identity, ("latent", (rows, 3)), {})
    first_two_of_z = [("Slice", ["obs", "c3", "c5", "c1"], ["short"]), ("Add", ["short", "half"], ["action"])]
    save_onnx(tmp_path / "a.onnx", ("obs", (rows, 6)), first_two_of_z, ("action", (rows, 2)), metadata or {})
    options = {"backward_file": "b.onnx", "actor_file": "a.onnx", "actor_inputs": {"obs": ["state", "z"]}, "z_dim": 3}
    return AgentCfg(name="a", policy="latent", options=options)


KINDS = {"module": torch_model, "torchscript": scripted, "script pair": script_pair, "onnx pair": onnx_pair}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_file_acts_alike(kind, tmp_path):
    agent = KINDS[kind](tmp_path)
    actions = load_policy(agent, info(), tmp_path).act(batch(MOTIONS, FRAMES))
    assert actions.dtype == np.float32
    np.testing.assert_allclose(actions, expected(MOTIONS, FRAMES), rtol=1e-6)
    assert fingerprint(agent, tmp_path)


def test_rows_of_several_tasks_get_their_own_contexts(tmp_path):
    first, second = info("one"), info("two")
    both = SpaceInfo(
        {**first.observation, **second.observation},
        {**first.action, **second.action},
        {**first.briefing, **second.briefing},
    )
    policy = load_policy(onnx_pair(tmp_path), both, tmp_path)
    rows = batch(MOTIONS, FRAMES)
    rows.trials = [Trial("a", "one" if i % 2 else "two", i, i) for i in range(5)]
    np.testing.assert_allclose(policy.act(rows), expected(MOTIONS, FRAMES), rtol=1e-6)


def test_a_model_with_a_fixed_number_of_rows_runs_in_blocks(tmp_path):
    policy = load_policy(onnx_pair(tmp_path, rows=1), info(), tmp_path)
    np.testing.assert_allclose(policy.act(batch(MOTIONS, FRAMES)), expected(MOTIONS, FRAMES), rtol=1e-6)


METADATA = {
    "joint_names": "hip,knee",
    "default_joint_pos": "0.100,-0.200",
    "action_scale": "1.000,0.125",
    "joint_stiffness": "100.0,50.0",
    "joint_damping": "2.0,1.0",
    "anchor_body_name": "torso_link",
    "observation_names": "state,z",
}


def test_a_models_own_action_scale_is_honoured(tmp_path):
    raw = expected(MOTIONS, FRAMES)
    offset = load_policy(onnx_pair(tmp_path, METADATA), info(), tmp_path).act(batch(MOTIONS, FRAMES))
    np.testing.assert_allclose(offset, raw * [2.0, 0.5], rtol=1e-6)
    absolute = load_policy(onnx_pair(tmp_path, METADATA), info(action="absolute"), tmp_path)
    np.testing.assert_allclose(absolute.act(batch(MOTIONS, FRAMES)), [0.1, -0.2] + raw * [1.0, 0.125], rtol=1e-6)
    plain = load_policy(onnx_pair(tmp_path), info(action="absolute"), tmp_path)
    np.testing.assert_allclose(plain.act(batch(MOTIONS, FRAMES)), [0.1, -0.2] + raw * [0.5, 0.25], rtol=1e-6)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"joint_names": "knee,hip"}, "joints in another order (joint 0 is knee, the robot's is hip)"),
        ({"joint_names": "hip,elbow"}, "of another robot: it lacks knee and has elbow"),
        ({"default_joint_pos": "0.1,0.4"}, "made for default_joint_pos 0.4 of knee; the robot has -0.2"),
        ({"joint_stiffness": "100,80"}, "made for joint_stiffness 80 of knee; the robot has 50"),
        ({"action_scale": "0.5,0.5,0.5"}, "action_scale has 3 numbers; the robot has 2 joints"),
        ({"action_scale": "a,b"}, 'its metadata action_scale is "a,b"; expected numbers with commas'),
        ({"anchor_body_name": "pelvis"}, "made for the anchor pelvis, the robot's is torso_link"),
    ],
)
def test_a_model_of_another_robot_is_refused_unless_it_is_to_be_overlooked(tmp_path, change, text):
    agent = onnx_pair(tmp_path, METADATA | change)
    with pytest.raises(InputError) as error:
        load_policy(agent, info(), tmp_path)
    assert text in str(error.value)
    overlooked = agent.model_copy(update={"options": {**agent.options, "metadata": "ignore"}})
    load_policy(overlooked, info(), tmp_path)


def with_options(agent, **options):
    return agent.model_copy(update={"options": {**agent.options, **options}})


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"z_dim": 5}, "gives z of 3 numbers; options.z_dim is 5"),
        ({"observations": ["stat"]}, "does not observe stat (it has frame, motion, state)"),
        ({"backward_observations": ["goal"]}, "tells no goal of a reference (it has state, last_action)"),
        ({"actor_inputs": {"obz": "state"}}, 'a.onnx has no input "obz" (it has obs)'),
        ({"actor_file": "a.pt"}, "no file"),
        ({"actor_file": "net.py"}, "must be both ONNX, or both TorchScript"),
    ],
)
def test_what_does_not_fit_is_named(tmp_path, options, text):
    (tmp_path / "net.py").write_text("")
    with pytest.raises(InputError) as error:
        load_policy(with_options(onnx_pair(tmp_path), **options), info(), tmp_path)
    assert text in str(error.value)


@pytest.mark.parametrize(
    ("inputs", "text"),
    [({"obs": "state"}, "state gives (rows, 3)"), ({"obs": ["state", "goal"]}, "finds no goal among state, z")],
)
def test_an_input_that_does_not_fit_is_named(tmp_path, inputs, text):
    policy = load_policy(with_options(onnx_pair(tmp_path), actor_inputs=inputs), info(), tmp_path)
    with pytest.raises(InputError) as error:
        policy.act(batch(MOTIONS, FRAMES))
    assert text in str(error.value)


def test_a_task_without_motions_is_refused(tmp_path):
    bare = SpaceInfo(info().observation, info().action, {"track": lambda: None})
    with pytest.raises(InputError, match='needs reference motions, but task "track" tells of none'):
        load_policy(onnx_pair(tmp_path), bare, tmp_path)


def test_one_source_of_the_model(tmp_path):
    with pytest.raises(InputError, match="needs either a checkpoint"):
        load_policy(AgentCfg(name="a", policy="latent"), info(), tmp_path)


def test_a_module_without_the_methods(tmp_path):
    torch = pytest.importorskip("torch")
    save_script(torch.nn.Linear(2, 2), tmp_path / "net.pt")
    agent = AgentCfg(name="a", policy="latent", checkpoint="net.pt", options={"trust": True})
    with pytest.raises(InputError, match=r"without backward_map\(obs\) and act\(obs, z\)"):
        load_policy(agent, info(), tmp_path)


@pytest.mark.parametrize("kind", ["torchscript", "script pair"])
def test_torchscript_needs_trust(tmp_path, kind):
    with pytest.raises(InputError, match="is TorchScript, a program that runs as soon as it is loaded"):
        load_policy(with_options(KINDS[kind](tmp_path), trust=False), info(), tmp_path)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"backward_file": "b.onnx"}, "backward_file and actor_file go together"),
        ({"frame_stack": 3}, "must normalise and stack by itself"),
    ],
)
def test_options_that_contradict(options, text):
    with pytest.raises(ValueError, match=text):
        load_policy(AgentCfg(name="a", policy="latent", options=options), info())
