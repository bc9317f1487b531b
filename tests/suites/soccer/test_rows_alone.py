"""The official number by default: on the competition's tasks a policy's rows are computed as if each were alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from asking import ask, task_of
from gymnasium.spaces import Box

from proctor import config_from_dict, run_evaluation
from proctor.config.models import EvalConfig
from proctor.policies import load_policy, options_for
from proctor.policies.protocol import SpaceInfo
from proctor.rollout.ask.requests import Request
from proctor.rollout.ask.runner import PolicyRunner
from proctor.runs.check import ALONE, check
from proctor.suites.soccer.tasks import TASKS, match_seed
from proctor.threads import pinned
from proctor_host.trials import Trial

torch = pytest.importorskip("torch")
pytest.importorskip("sai_mujoco", reason="the extra `soccer` is not installed")

OBSERVED, JOINTS, WIDTH, STEPS = 45, 12, 64, 12
TORQUE = np.array([45, 45, 30, 65, 24, 15] * 2, np.float32)
SEEN, ACTION = Box(-np.inf, np.inf, (OBSERVED,), np.float32), Box(-TORQUE, TORQUE)
Asked = Callable[[np.ndarray], np.ndarray]
"""One observation -> what a script with batch one gets for it."""


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.hidden, self.head = torch.nn.Linear(OBSERVED, WIDTH), torch.nn.Linear(WIDTH, JOINTS)

    def forward(self, seen: torch.Tensor) -> torch.Tensor:
        return 20.0 * torch.tanh(self.head(torch.tanh(self.hidden(seen))))


def from_torch(folder: Path) -> tuple[dict[str, Any], Asked]:
    net = Net().eval()
    torch.save(net.state_dict(), folder / "net.pt")
    module = f"{Path(__file__).resolve()}:Net"
    asked: Asked = lambda seen: net(torch.from_numpy(seen[None])).detach().numpy()[0]  # noqa: E731
    return {"checkpoint": str(folder / "net.pt"), "options": {"module": module}}, asked


def from_onnx(folder: Path) -> tuple[dict[str, Any], Asked]:
    onnx, runtime = pytest.importorskip("onnx"), pytest.importorskip("onnxruntime")
    from onnx import TensorProto, helper, numpy_helper

    rng = np.random.default_rng(0)
    weights = {"a": rng.standard_normal((OBSERVED, WIDTH)), "b": rng.standard_normal((WIDTH, JOINTS))}
    nodes = [helper.make_node("MatMul", ["seen", "a"], ["h"]), helper.make_node("Tanh", ["h"], ["t"])]
    nodes += [helper.make_node("MatMul", ["t", "b"], ["act"])]
    kinds = [("seen", ["rows", OBSERVED]), ("act", ["rows", JOINTS])]
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in kinds]
    constants = [numpy_helper.from_array(array.astype(np.float32), name) for name, array in weights.items()]
    graph = helper.make_graph(nodes, "g", ports[:1], ports[1:], constants)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(made, folder / "net.onnx")
    session = runtime.InferenceSession(str(folder / "net.onnx"), providers=["CPUExecutionProvider"])
    asked: Asked = lambda seen: session.run(None, {"seen": seen[None]})[0][0]  # noqa: E731
    return {"checkpoint": str(folder / "net.onnx")}, asked


def from_sb3(folder: Path) -> tuple[dict[str, Any], Asked]:
    sb3 = pytest.importorskip("stable_baselines3")

    class Bare(gymnasium.Env[np.ndarray, np.ndarray]):
        observation_space, action_space = SEEN, ACTION

    model = sb3.SAC("MlpPolicy", Bare(), policy_kwargs={"net_arch": [WIDTH]}, buffer_size=1, device="cpu", seed=0)
    model.save(folder / "net.zip")
    asked: Asked = lambda seen: model.predict(seen, deterministic=True)[0]  # noqa: E731
    return {"checkpoint": str(folder / "net.zip")}, asked


LOADERS = {"torch": from_torch, "onnx": from_onnx, "sb3": from_sb3}


def examination(folder: Path, agent: dict[str, Any], **keys: Any) -> EvalConfig:
    raw = {
        "agents": [{"name": "net", **agent}],
        "tasks": [{"suite": "soccer", "options": {"task": "goalie_penalty_kick", "match_seeds": {"master": 42}}}],
        "output_root": str(folder / "out"),
        "max_episode_steps": STEPS,
        "workers": "inline",
        **keys,
    }
    return config_from_dict(raw)


@pytest.mark.parametrize("loader", LOADERS)
def test_a_row_is_answered_as_a_script_with_batch_one_gets_it_in_any_batch(loader: str, tmp_path: Path) -> None:
    agent, asked = LOADERS[loader](tmp_path)
    cfg = examination(tmp_path, agent).agents[0]
    task = task_of("kick", SEEN, ACTION)
    seen = np.random.default_rng(1).standard_normal((16, OBSERVED)).astype(np.float32)
    with pinned():
        runner = PolicyRunner.of(load_policy(cfg, SpaceInfo({"kick": SEEN}, {"kick": ACTION})), options_for(cfg))
        expected = [asked(row).tobytes() for row in seen]
        for batch in range(1, 17):
            requests = [Request(None, Trial("net", "kick", i, i), task, "act") for i in range(batch)]
            for row, request in enumerate(requests):
                request.columns, request.row = [seen], row
            found = [answer.decision.actions[0].tobytes() for answer in ask(runner, "act", requests)]
            assert found == expected[:batch]


@pytest.fixture(scope="module")
def official() -> Iterator[gymnasium.Env[Any, Any]]:
    env = gymnasium.make(TASKS["goalie_penalty_kick"], disable_env_checker=True)
    yield env
    env.close()


@pytest.mark.parametrize("loader", LOADERS)
def test_a_run_records_what_the_official_loop_does_whatever_runs_beside_it(
    loader: str, tmp_path: Path, official: gymnasium.Env[Any, Any]
) -> None:
    agent, asked = LOADERS[loader](tmp_path)
    run = run_evaluation(examination(tmp_path, agent, n_trials=3, num_parallel=2))
    for result in run.results():
        seen, _ = official.reset(seed=match_seed(42, result.trial.index))
        rewards = []
        with pinned():
            for action in run.episode(result).arrays["actions"]:
                own = np.clip(asked(seen), official.action_space.low, official.action_space.high)
                assert own.tobytes() == action.astype(np.float32).tobytes()
                seen, reward, *_ = official.step(own)
                rewards.append(float(reward))
        assert rewards == list(run.episode(result).arrays["rewards"])


def test_the_resolved_config_says_so_and_another_number_stays(tmp_path: Path) -> None:
    agent, _ = from_torch(tmp_path)
    cfg = examination(tmp_path, agent)
    assert cfg.agents[0].options["pad_to"] == 1
    assert config_from_dict(cfg.model_dump(mode="json")) == cfg
    agent["options"]["pad_to"] = 16
    assert examination(tmp_path, agent).agents[0].options["pad_to"] == 16
    other = [{"suite": "soccer", "options": {"task": "penalty_kick"}}]
    del agent["options"]["pad_to"]
    assert examination(tmp_path, agent, tasks=other).agents[0].options["pad_to"] == 16
    remote = {"policy": "remote", "options": {"url": "ws://localhost:1"}}
    assert examination(tmp_path, remote).agents[0].options["pad_to"] is None, "which pads nothing by itself"


def test_check_says_that_the_score_is_sensitive_and_whose_rows_are_rounded_otherwise(tmp_path: Path) -> None:
    agent, _ = from_torch(tmp_path)
    found = check(examination(tmp_path, agent, max_episode_steps=1))
    assert f'task "goalie_penalty_kick": {ALONE}' in found.fine
    assert found.warnings == []
    agent["options"]["pad_to"] = 16
    assert check(examination(tmp_path, agent, max_episode_steps=1)).warnings == [
        'agent "net" on task "goalie_penalty_kick": rows are computed 16 at a time and are rounded otherwise than one '
        "alone; small differences grow on this task, so the score is not that of its protocol, which asks for one row "
        "at a time; options: {pad_to: 1} asks for every row alone"
    ]
