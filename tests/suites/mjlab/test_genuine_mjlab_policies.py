"""Policies that mjlab itself trained and exported, beside what rsl_rl and mjlab's own play loop make of them.

`PROCTOR_MJLAB_PYTHON` is an interpreter that has mjlab 1.6. The first run compiles kernels; with them it takes about a
minute.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

from proctor import config_from_dict, run_evaluation
from proctor.config.models import AgentCfg
from proctor.policies import infer_loader, load_policy
from proctor.policies.protocol import Actions, Batch, SpaceInfo
from proctor_host.trials import Trial

PYTHON = os.environ.get("PROCTOR_MJLAB_PYTHON")
pytest.importorskip("onnxruntime")
pytest.importorskip("torch")
pytestmark = [
    pytest.mark.skipif(PYTHON is None, reason="PROCTOR_MJLAB_PYTHON names no interpreter that has mjlab"),
    pytest.mark.timeout(900),
]
SUPPORT = Path(__file__).parents[2] / "support"
TASKS = {"Mjlab-Cartpole-Balance": 2, "Mjlab-Velocity-Flat-Unitree-Go1": 1}
"""Those that are trained, and for how many iterations."""
SEED = 5
"""As in mjlab_train.py."""
KINDS = ("plain", "normalised", "two_groups", "spread_by_state", "beta", "lstm", "gru")
"""As in rsl_rl_models.py."""


def run_script(name: str, folder: Path, *args: str) -> Path:
    command = [PYTHON or "", str(SUPPORT / name), str(folder), *args]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder.parent, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return folder


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_script("rsl_rl_models.py", tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="module", params=TASKS)
def trained(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    task = request.param
    folder = tmp_path_factory.mktemp("runs") / "2026-01-01_00-00-00"
    return task, run_script("mjlab_train.py", folder, task, str(TASKS[task]))


def box(count: int) -> spaces.Box:
    return spaces.Box(-np.inf, np.inf, (count,), np.float32)


@pytest.mark.parametrize("kind", KINDS)
def test_actors_of_rsl_rl_act_as_its_own_inference(models: Path, kind: str) -> None:
    """Of every kind that is built, to the last digits of float32, over steps and with rows of several trials."""
    seen = np.load(models / kind / "seen.npz")
    whole = kind == "two_groups"
    space: Any = spaces.Dict({"actor": box(7), "map": box(3)}) if whole else box(7)
    info = SpaceInfo({"t": space}, {"t": box(seen["actions"].shape[-1])})
    agent = AgentCfg(name="theirs", policy="mjlab/rsl_rl", checkpoint=str(models / kind / "model_0.pt"))
    policy: Any = load_policy(agent, info)
    trials = [Trial("theirs", "t", i, i) for i in range(seen["actor"].shape[1])]
    state = policy.reset(trials)
    for step, wanted in enumerate(seen["actions"]):
        rows = {name: seen[name][step] for name in ("actor", "map")}
        answer: Actions = policy.act(Batch(rows if whole else rows["actor"], state, [], trials))
        np.testing.assert_allclose(answer.actions, wanted, rtol=0, atol=2e-6)
        state = answer.state


def agents_of(folder: Path) -> list[dict[str, Any]]:
    """The three forms of one policy. mjlab writes metadata beside the checkpoints of robots with position targets; what
    it exports of the cartpole has none."""
    last = max(folder.glob("model_*.pt"), key=lambda path: int(path.stem.split("_")[1]))
    described = folder / f"{folder.name}.onnx"
    return [
        {"name": "checkpoint", "policy": "mjlab/rsl_rl", "checkpoint": str(last)},
        {"name": "exported", "checkpoint": str(described if described.exists() else folder / "policy.onnx")},
        {"name": "script", "checkpoint": str(folder / "policy.pt"), "options": {"trust": True}},
    ]


def test_recorded_observations_give_the_actions_of_rsl_rl(trained: tuple[str, Path]) -> None:
    played = np.load(trained[1] / "played.npz")
    info = SpaceInfo({"t": box(played["obs"].shape[1])}, {"t": box(played["actions"].shape[1])})
    trials = [Trial("theirs", "t", i, i) for i in range(len(played["obs"]))]
    for agent in agents_of(trained[1]):
        policy: Any = load_policy(AgentCfg.model_validate({"policy": infer_loader(agent["checkpoint"]), **agent}), info)
        answer = policy.act(Batch(played["obs"], None, [], trials))
        np.testing.assert_allclose(answer.actions, played["actions"], rtol=0, atol=1e-6, err_msg=agent["name"])


def test_it_plays_here_as_mjlab_plays_it(trained: tuple[str, Path], tmp_path: Path) -> None:
    """One world from the same state of torch's generator, in mjlab's own play loop and here: every step's action and
    reward, and so the return. Matrices of 16 rows round otherwise than those of one; a robot on legs amplifies that."""
    task, folder = trained
    played = np.load(folder / "played.npz")
    cfg: dict[str, Any] = {
        "agents": agents_of(folder),
        "tasks": [{"suite": "mjlab", "options": {"task": task}, "runtime": {"python": PYTHON}}],
        "seeds": [SEED],
        "max_episode_steps": len(played["rewards"]),
        "workers": 1,
        "output_root": str(tmp_path),
    }
    run = run_evaluation(config_from_dict(cfg))
    assert not played["dones"].any()
    for result in run.results():
        here = run.signals(result)
        assert result.outcome.scored
        np.testing.assert_allclose(here["actions"], played["actions"], rtol=0, atol=1e-5)
        np.testing.assert_allclose(here["rewards"], played["rewards"], rtol=0, atol=2e-6)
        assert here["rewards"].sum() == pytest.approx(played["rewards"].sum(), abs=1e-5)
