"""The suite in the runtime of its recipe: a task of mjlab with a random policy, and with one that balances the pole, in
every form that mjlab's training leaves behind.

The runtime stays beside this interpreter's packages, and so do the compiled kernels: it is built once (`make mjlab`).
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from proctor import config_from_dict, run_evaluation
from proctor.errors import RunError
from proctor.runtimes import specify
from proctor.runtimes.install import Hear, Wishes, install

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
torch = pytest.importorskip("torch")
from onnx import TensorProto, helper  # noqa: E402
from torch import nn  # noqa: E402

UNREACHABLE = ("No matching distribution", "Temporary failure", "Connection", "offline", "dns error", "timed out")
TASK, STEPS = "Mjlab-Cartpole-Balance", 40
TERMS = {"cart_pos": [0.5], "pole_angle": [0.0, 5.0], "cart_vel": [0.5], "pole_vel": [1.0]}
"""The task's terms, and what an upright pole wants of each."""


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> str:
    """The recipe's runtime, installed."""
    monkeypatch.setenv("PROCTOR_RUNTIMES", str(Path(sys.prefix) / "runtimes"))
    monkeypatch.setenv("WARP_CACHE_PATH", str(Path(sys.prefix) / "warp"))
    said: list[str] = []
    try:
        install(specify("mjlab"), Wishes(), Hear(said.append, said.append))
    except RunError as error:
        if any(word in "\n".join([str(error), *said]) for word in UNREACHABLE):
            pytest.skip(f"the registry cannot be reached: {error}")
        raise
    return "mjlab"


def balancer(order: list[str]) -> nn.Sequential:
    """Two layers whose product is the gains, for terms in this order."""
    gains = [gain for name in order for gain in TERMS[name]]
    network = nn.Sequential(nn.Linear(len(gains), 2), nn.Identity(), nn.Linear(2, 1))
    with torch.no_grad():
        network[0].weight[:] = torch.tensor([gains, gains])
        network[0].bias.zero_()
        network[2].weight[:] = 0.5
        network[2].bias.zero_()
    return network


def export(path: Path, order: list[str]) -> str:
    """As mjlab's exporter writes a policy: one row, and the names of the terms."""
    weights = balancer(order)
    layers = [(weights[0].weight, "inner"), (weights[2].weight, "outer")]
    value = [helper.make_tensor_value_info(*port) for port in (("obs", TensorProto.FLOAT, [1, 5]),)]
    given = [helper.make_tensor_value_info("actions", TensorProto.FLOAT, [1, 1])]
    nodes = [
        helper.make_node("MatMul", ["obs", "inner"], ["held"]),
        helper.make_node("MatMul", ["held", "outer"], ["actions"]),
    ]
    held = [onnx.numpy_helper.from_array(weight.detach().numpy().T.copy(), name) for weight, name in layers]
    graph = helper.make_graph(nodes, "net", value, given, held)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    helper.set_model_props(model, {"run_path": "local", "observation_names": ",".join(order)})
    onnx.save(model, str(path))
    return str(path)


def checkpoint(folder: Path) -> str:
    """As mjlab's training writes it."""
    state = {f"mlp.{name}": value for name, value in balancer(list(TERMS)).state_dict().items()}
    (folder / "params").mkdir()
    (folder / "params" / "agent.yaml").write_text("actor: {activation: identity}\nclip_actions: 100.0\n")
    torch.save({"actor_state_dict": state, "iter": 1, "infos": {}}, folder / "model_1.pt")
    return str(folder / "model_1.pt")


def script(path: Path) -> str:
    torch.jit.save(torch.jit.trace(balancer(list(TERMS)), torch.zeros(1, 5)), str(path))
    return str(path)


@pytest.mark.timeout(900)
@pytest.mark.filterwarnings("ignore::DeprecationWarning:torch")
def test_a_random_and_an_exported_policy_on_a_task_of_mjlab(runtime: str, tmp_path: Path) -> None:
    agents: list[dict[str, Any]] = [
        {"name": "random", "policy": "random"},
        {"name": "exported", "checkpoint": export(tmp_path / "policy.onnx", list(TERMS))},
        {"name": "other order", "checkpoint": export(tmp_path / "moved.onnx", list(TERMS)[::-1])},
        {"name": "checkpoint", "policy": "mjlab/rsl_rl", "checkpoint": checkpoint(tmp_path)},
        {"name": "script", "checkpoint": script(tmp_path / "policy.pt"), "options": {"trust": True}},
    ]
    cfg = {
        "agents": agents,
        "tasks": [{"suite": "mjlab", "name": "pole", "options": {"task": TASK, "batch": True}, "runtime": runtime}],
        "n_trials": 2,
        "num_parallel": 4,
        "workers": 1,
        "max_episode_steps": STEPS,
        "output_root": str(tmp_path / "runs"),
    }
    run = run_evaluation(config_from_dict(cfg))
    assert all(result.outcome.scored for result in run.results())
    assert len(list(run.results())) == 10
    for trial in range(2):
        signals = {agent["name"]: run.signals(f"{agent['name']}/pole/{trial}") for agent in agents}
        best = signals["exported"]["rewards"]
        assert best[-10:].min() > 0.049, "upright, in the middle, and hardly pushed: 0.05 is the most"
        assert signals["random"]["rewards"].sum() < best.sum()
        for name in ("other order", "checkpoint", "script"):
            np.testing.assert_allclose(signals[name]["actions"], signals["exported"]["actions"], atol=1e-5)
            np.testing.assert_allclose(signals[name]["rewards"], best, atol=1e-6)
        np.testing.assert_allclose(signals["random"]["reward/smooth_reward"], signals["random"]["rewards"], rtol=1e-6)
