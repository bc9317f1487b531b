"""A contestant's submission folder: found without running it, then run as the competition's runner runs one."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import Box, Dict

from proctor.config.models import AgentCfg
from proctor.errors import InputError
from proctor.policies import fingerprint, load_policy
from proctor.policies.protocol import Batch, SpaceInfo
from proctor.suites.soccer.loaders.contents import read_contents
from proctor.suites.soccer.loaders.submission import of_bounds
from proctor_host.trials import Trial

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

OBSERVED, JOINTS = 4, 2
BOUNDS = np.array([10.0, 30.0], np.float32)
ACTION = Box(-BOUNDS, BOUNDS)
SEEN = Dict({"observation": Box(-9, 9, (OBSERVED,)), "info": Dict({"gyro": Box(-9, 9, (1,))})})
SPACES = SpaceInfo({"kick": SEEN}, {"kick": ACTION})

MODEL = """
    import torch
    from gains import GAIN

    class Walker(torch.nn.Module):
        def __init__(self, model_path):
            super().__init__()
            self.inner = torch.jit.load(model_path)
            self.noise = torch.randn(1)

        def forward(self, obs):
            return GAIN * self.inner(obs)[0]
"""
SCRIPT = """
    import numpy as np
    from a_package_that_nobody_has import Client
    from model import Walker

    client = Client()

    class Preprocessor():
        def modify_state(self, obs, info):
            if len(info["gyro"].shape) == 1:
                info["gyro"] = np.expand_dims(info["gyro"], axis=0)
            return np.concatenate([np.expand_dims(obs, axis=0), info["gyro"]], dtype=np.float32, axis=1)

    client.submit(Walker("model.pt"), Preprocessor)
"""
ACTIONS = """
    def action_function(policy):
        return np.clip(policy, env.action_space.low, env.action_space.high) / 2
"""


class TwoHeads(torch.nn.Module):
    """Gives a tuple, as the competition's converted actors do: mean and deviation."""

    def __init__(self) -> None:
        super().__init__()
        self.mean = torch.nn.Linear(OBSERVED + 1, JOINTS)

    def forward(self, seen: Any) -> Any:
        return self.mean(seen), torch.ones(JOINTS)


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        (folder / f"{name}.py").write_text(textwrap.dedent(text))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    torch.manual_seed(3)
    torch.jit.save(torch.jit.trace(TwoHeads(), torch.zeros(1, OBSERVED + 1)), tmp_path / "model.pt")
    write(tmp_path, model=MODEL, submit=SCRIPT, gains="GAIN = 0.5\n")
    return tmp_path


def agent(folder: Path, **options: Any) -> AgentCfg:
    return AgentCfg(name="theirs", policy="soccer/submission", checkpoint=str(folder), options=options)


def batch(rows: int) -> Batch:
    rng = np.random.default_rng(0)
    seen = {
        "observation": rng.standard_normal((rows, OBSERVED)).astype(np.float32),
        "info": {"gyro": rng.standard_normal((rows, 1)).astype(np.float32)},
    }
    trials = [Trial("theirs", "kick", i, i) for i in range(rows)]
    return Batch(seen, None, [np.random.default_rng(i) for i in range(rows)], trials)


def expected(folder: Path, asked: Batch) -> np.ndarray:
    """What the folder's model gives for the preprocessed rows, before it becomes an action."""
    seen = np.concatenate([asked.observation["observation"], asked.observation["info"]["gyro"]], axis=1)
    with torch.inference_mode():
        return torch.jit.load(folder / "model.pt")(torch.from_numpy(seen))[0].numpy()


def test_it_runs_with_no_code_of_the_users_and_the_script_is_not_run(folder: Path) -> None:
    policy = load_policy(agent(folder, trust=True), SPACES)
    asked = batch(3)
    given = policy.act(asked).actions  # type: ignore[union-attr]
    np.testing.assert_allclose(given, BOUNDS * np.clip(0.5 * expected(folder, asked), -1, 1), rtol=1e-5)


def test_the_weights_alone_give_a_tuple_whose_first_entry_is_taken(folder: Path) -> None:
    policy = load_policy(agent(folder, trust=True, module="none"), SPACES)
    asked = batch(3)
    given = policy.act(asked).actions  # type: ignore[union-attr]
    np.testing.assert_allclose(given, BOUNDS * np.clip(expected(folder, asked), -1, 1), rtol=1e-5)
    beyond = load_policy(agent(folder, trust=True, module="none", output=2), SPACES)
    with pytest.raises(TypeError, match=r"options.output is 2, but the model gave a tuple of 2"):
        beyond.act(asked)  # type: ignore[union-attr]


def test_an_action_function_takes_the_place_of_the_bounds(folder: Path) -> None:
    write(folder, actions=ACTIONS)
    asked = batch(3)
    given = load_policy(agent(folder, trust=True, module="none"), SPACES).act(asked).actions  # type: ignore[union-attr]
    np.testing.assert_allclose(given, np.clip(expected(folder, asked), -BOUNDS, BOUNDS) / 2, rtol=1e-5)
    bare = load_policy(agent(folder, trust=True, module="none", action_function="none"), SPACES)
    assert not np.allclose(bare.act(asked).actions, given)  # type: ignore[union-attr]


def test_outputs_are_shares_of_the_bounds_and_clipped_there() -> None:
    given = np.array([[-45.0, 0.0], [0.5, 3.0]], np.float32)
    np.testing.assert_array_equal(of_bounds(given, ACTION), np.array([[-10, 0], [5, 30]], np.float32))
    assert of_bounds(given, ACTION).dtype == np.float32
    assert of_bounds(given, Box(-np.inf, np.inf, (2,))) is given


def test_noise_that_a_model_draws_for_itself_is_the_same_wherever_it_is_loaded(folder: Path) -> None:
    def noise(**options: Any) -> float:
        torch.manual_seed(np.random.default_rng().integers(2**31))
        policy: Any = load_policy(agent(folder, trust=True, **options), SPACES)
        return float(policy._model._module.noise)

    assert noise() == noise() != noise(seed=1)


def test_without_trust_it_says_what_would_run(folder: Path) -> None:
    with pytest.raises(InputError, match=r"\(model.py:Walker, submit.py:Preprocessor, model.pt\); read it, then set"):
        load_policy(agent(folder), SPACES)


def test_a_task_that_hands_no_info_is_named(folder: Path) -> None:
    bare = SpaceInfo({"kick": SEEN["observation"]}, {"kick": ACTION})
    with pytest.raises(InputError, match=r'submit.py:Preprocessor takes \(observation, info\), but task "kick" hands'):
        load_policy(agent(folder, trust=True), bare)


def test_two_of_a_kind_are_refused_until_one_is_named(folder: Path) -> None:
    write(folder, other="class Second():\n    def modify_state(self, obs, info):\n        return obs[None]\n")
    with pytest.raises(InputError, match=r"holds other.py:Second, submit.py:Preprocessor; say which with options: \{"):
        load_policy(agent(folder, trust=True), SPACES)
    load_policy(agent(folder, trust=True, preprocessor_class="submit.py:Preprocessor"), SPACES)
    with pytest.raises(InputError, match=r"options.preprocessor_class is x.py:X, but .* holds other.py:Second, submit"):
        load_policy(agent(folder, trust=True, preprocessor_class="x.py:X"), SPACES)
    torch.save({}, folder / "second.pt")
    with pytest.raises(InputError, match=r"holds the weights model.pt, second.pt; say which with options: \{weights"):
        load_policy(agent(folder, trust=True, preprocessor_class="none"), SPACES)


def test_weights_that_are_missing_or_junk_are_named(folder: Path) -> None:
    with pytest.raises(InputError, match=r"options.weights is zz.pt, which is missing: .* holds the weights model.pt"):
        load_policy(agent(folder, trust=True, weights="zz.pt"), SPACES)
    (folder / "model.pt").write_bytes(b"enough of nothing")
    with pytest.raises(InputError, match=r"model.py:Walker could not be made with model_path=.*model.pt: .*Error"):
        load_policy(agent(folder, trust=True), SPACES)
    (folder / "model.pt").unlink()
    with pytest.raises(InputError, match=r"options.weights is zz.pt, which is missing: .* holds no weights; say which"):
        load_policy(agent(folder, trust=True, weights="zz.pt"), SPACES)


def test_a_model_that_wants_more_than_the_path_of_its_weights_is_named(folder: Path) -> None:
    write(folder, model="from torch import nn\n\nclass Wide(nn.Module):\n    def __init__(self, n, width): ...\n")
    with pytest.raises(InputError, match=r"model.py:Wide takes n, width, and nobody says what these are"):
        load_policy(agent(folder, trust=True), SPACES)


def test_a_folder_without_a_model_and_a_file_that_is_no_python(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"holds no model: neither a class of torch modules nor a file that ends in"):
        load_policy(agent(tmp_path), SPACES)
    write(tmp_path, broken="def (")
    with pytest.raises(InputError, match=r"broken.py is no Python file"):
        read_contents(tmp_path)


def test_a_preprocessor_that_needs_more_than_the_runner_gives_is_named(folder: Path) -> None:
    write(folder, submit="class P(Base):\n    def modify_state(self, obs, info):\n        return obs[None]\n")
    with pytest.raises(InputError, match=r"submit.py:P cannot be made of its own lines, .* NameError"):
        load_policy(agent(folder, trust=True), SPACES)


def test_every_file_of_the_folder_belongs_to_the_agents_identity(folder: Path) -> None:
    before = fingerprint(agent(folder))
    (folder / "__pycache__").mkdir(exist_ok=True)
    (folder / "__pycache__" / "gains.pyc").write_bytes(b"compiled when it is imported")
    assert fingerprint(agent(folder)) == before
    assert set(before) >= {"checkpoint/model.py", "checkpoint/submit.py", "checkpoint/gains.py", "checkpoint/model.pt"}
    write(folder, gains="GAIN = 0.6\n")
    assert fingerprint(agent(folder)) != before


def test_an_onnx_file_alone_needs_no_trust(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    from onnx import TensorProto, helper

    shapes = [("seen", OBSERVED), ("act", OBSERVED)]
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["rows", n]) for name, n in shapes]
    graph = helper.make_graph([helper.make_node("Tanh", ["seen"], ["act"])], "g", ports[:1], ports[1:])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(made, tmp_path / "net.onnx")
    wide = SpaceInfo({"kick": SEEN}, {"kick": Box(-2, 2, (OBSERVED,))})
    asked = batch(2)
    given = load_policy(agent(tmp_path / "net.onnx"), wide).act(asked).actions  # type: ignore[union-attr]
    np.testing.assert_allclose(given, 2 * np.tanh(asked.observation["observation"]), rtol=1e-5)
