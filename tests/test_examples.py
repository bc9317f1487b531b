"""Every example runs, and comes to the result that it teaches."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from proctor import Run, load_config, run_evaluation
from proctor.policies.protocol import Batch, SpaceInfo
from proctor.registry import import_object
from proctor_host.trials import Trial

EXAMPLES = Path(__file__).parent.parent / "examples"


def run_config(name: str, folder: Path, *overrides: str) -> Run:
    return run_evaluation(load_config(EXAMPLES / name, [f"output_root={folder}", *overrides]))


def success_rates(run: Run) -> dict[str, float]:
    return {agent["agent"]: agent["success_rate"] for agent in run.report()["agents"]}


def test_quickstart_ranks_its_agents(tmp_path: Path) -> None:
    run = run_config("quickstart.yml", tmp_path, "n_trials=2")
    results = list(run.results())
    assert {result.trial.task for result in results} == {"cartpole", "acrobot", "pendulum", "reacher"}
    assert len(results) == 5 * 4 * 2
    assert all(result.outcome.scored and not result.outcome.broken_by_policy for result in results)
    rates = success_rates(run)
    assert min(rates["controllers"], rates["network"]) > rates["network-early"] >= rates["random"]


def test_endovascular_separates_its_agents(tmp_path: Path) -> None:
    run = run_config("endovascular.yml", tmp_path, "max_episode_steps=150")
    report = run.report()
    rates = success_rates(run)
    assert rates == {"navigator": 1.0, "push_only": 0.0, "random": 0.0}
    assert report["verdict"].startswith("Simulated by the embedded simulator. navigator ")
    assert "No winner" not in report["verdict"]
    tools = {agent["agent"]: agent["tool"] for agent in report["agents"]}
    assert tools == {"navigator": "angled_standard", "push_only": "angled_stiff", "random": "j_soft"}


def test_tracking_has_an_agent_that_stays_on_its_feet(tmp_path: Path) -> None:
    run = run_config("tracking.yml", tmp_path, "record=summary")
    upright: dict[str, list[float]] = {}
    for result in run.results():
        upright.setdefault(result.trial.agent, []).append(result.metrics["upright_share"] or 0.0)
    assert len(upright["trained"]) == 8
    assert min(upright["trained"]) == 1.0
    assert max(upright["mirror"]) < 0.6
    rates = success_rates(run)
    assert rates["trained"] == 1.0
    assert rates["random"] == 0.0


def python(*arguments: str, cwd: Path) -> str:
    """What a script prints; warnings are errors in it."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        env=os.environ | {"PYTHONWARNINGS": "error"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_python_api_example_prints_what_it_found(tmp_path: Path) -> None:
    printed = python(str(EXAMPLES / "01_python_api.py"), cwd=tmp_path)
    assert "network  return 500.0, success 100%" in printed


def test_evaluate_takes_what_is_in_hand(tmp_path: Path) -> None:
    printed = python(str(EXAMPLES / "06_evaluate.py"), cwd=tmp_path)
    assert "1   network    20   100 % [84 % to 100 %]" in printed
    assert "lean, trial 3: 406 steps, return 406" in printed
    assert printed.rstrip().endswith("100 rows, read again: True")


def test_training_loop_practises_what_it_does_badly(tmp_path: Path) -> None:
    printed = python(str(EXAMPLES / "05_training_loop.py"), cwd=tmp_path).splitlines()
    table: dict[str, list[list[str]]] = {}
    for line in printed[1:-2]:
        what = next(word for word in ("drawn", "rad", "share") if word in line)
        table.setdefault(what, []).append(line.partition(what)[2].split())
    emd, share, drawn = (np.array(table[key], object) for key in ("rad", "share", "drawn"))
    hard, easy = emd[0].astype(float).argmax(), emd[0].astype(float).argmin()
    assert int(drawn[1][hard]) > 2 * int(drawn[1][easy])
    assert int(share[0][hard].rstrip("%")) > 2 * int(share[0][easy].rstrip("%"))
    assert emd[-1].astype(float).mean() < emd[0].astype(float).mean()
    assert printed[-1] == "target reached"


def test_own_parts_keep_the_laws(tmp_path: Path) -> None:
    pytest_options = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "--import-mode=importlib")
    printed = python(*pytest_options, str(EXAMPLES / "04_test_own_parts.py"), cwd=tmp_path)
    assert "passed" in printed


def test_memory_docks_the_boat(tmp_path: Path) -> None:
    run = run_config("02_own_policy_and_env.yml", tmp_path, "n_trials=10")
    rates = success_rates(run)
    assert rates["with-memory"] == 1.0
    assert rates["no-memory"] < 0.5
    first = next(iter(run.results()))
    assert first.npz is not None
    with np.load(run.path / first.npz) as arrays:
        assert arrays["distance_m"].shape == arrays["rewards"].shape


def test_own_scoring_and_metric_are_used(tmp_path: Path) -> None:
    run = run_config("03_own_scoring.yml", tmp_path, "n_trials=3")
    report = run.report()
    assert [agent["agent"] for agent in report["agents"]] == ["controllers", "random"]
    assert all(0.0 <= result.metrics["torque_switches_per_step"] <= 1.0 for result in run.results())  # type: ignore[operator]


@pytest.fixture
def spaces() -> SpaceInfo:
    pytest.importorskip("imageio", reason="Gymnasium's robots import it")

    ids = {
        "cartpole": "CartPole-v1",
        "acrobot": "Acrobot-v1",
        "pendulum": "Pendulum-v1",
        "reacher": "Reacher-v5",
    }
    return SpaceInfo(action={task: gymnasium.make(env_id).action_space for task, env_id in ids.items()})


WIDTHS = {"cartpole": 4, "acrobot": 6, "pendulum": 3, "reacher": 10}


def batch(task: str, observation: np.ndarray, seeds: list[int]) -> Batch:
    trials = [Trial("agent", task, seed, seed) for seed in seeds]
    return Batch(observation, None, [trial.policy_rng() for trial in trials], trials)


@pytest.mark.parametrize("task", list(WIDTHS))
@pytest.mark.parametrize("agent", ["controllers", "clumsy", "network", "network-noisy"])
def test_rows_do_not_depend_on_their_neighbours(agent: str, task: str, spaces: SpaceInfo) -> None:
    policy = make_agent(agent, spaces)
    observation = np.random.default_rng(0).uniform(-1, 1, (16, WIDTHS[task])).astype(np.float32)
    seeds = list(range(16))
    order = np.random.default_rng(1).permutation(16)
    actions = policy.act(batch(task, observation, seeds))
    permuted = policy.act(batch(task, observation[order], [seeds[i] for i in order]))
    np.testing.assert_array_equal(permuted, actions[order])
    assert all(spaces.action[task].contains(action) for action in actions)


def make_agent(name: str, spaces: SpaceInfo) -> Any:
    if name in ("controllers", "clumsy"):
        return import_object(f"agents/controllers.py:{name.capitalize()}", EXAMPLES)()
    pytest.importorskip("onnxruntime", reason="the extra `onnx` is not installed")
    checkpoint = str(EXAMPLES / "checkpoints" / "network.onnx")
    noise = 0.2 if name == "network-noisy" else 0.0
    return import_object("agents/network.py:TaskNetwork", EXAMPLES)(checkpoint, spaces, noise)


def test_exported_networks_compute_what_was_trained(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ONNX forms of random networks equal the layers, computed in numpy."""
    pytest.importorskip("stable_baselines3")
    import onnxruntime

    monkeypatch.syspath_prepend(str(EXAMPLES))
    import train_quickstart  # pyright: ignore[reportMissingImports]

    rng = np.random.default_rng(0)
    shapes = [[(3, 5), (5, 1)], [(4, 5), (5, 2)]]
    networks = [[(rng.normal(size=shape), rng.normal(size=shape[1])) for shape in net] for net in shapes]
    stacked = train_quickstart.stacked_model(train_quickstart.stack(networks), ["a", "b"]).SerializeToString()
    observation = np.zeros((6, 4), np.float32)
    task = np.array([0, 1, 0, 1, 1, 0])
    for row, t in enumerate(task):
        observation[row, : shapes[t][0][0]] = rng.normal(size=shapes[t][0][0])
    (output,) = onnxruntime.InferenceSession(stacked).run(["output"], {"observation": observation, "task": task})
    for row, t in enumerate(task):
        (w0, b0), (w1, b1) = networks[t]
        inputs = observation[row, : len(w0)]
        expected = np.tanh(inputs @ w0 + b0) @ w1 + b1
        np.testing.assert_allclose(np.asarray(output)[row, : len(expected)], expected, rtol=1e-5, atol=1e-5)
        plain = onnxruntime.InferenceSession(train_quickstart.plain_model(networks[t]).SerializeToString())
        (alone,) = plain.run(["output"], {"observation": inputs[None]})
        np.testing.assert_allclose(np.asarray(alone)[0], expected, rtol=1e-5, atol=1e-5)
