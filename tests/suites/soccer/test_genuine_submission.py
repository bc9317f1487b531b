"""The competition repository's own submission folder, beside the competition's own runner.

`PROCTOR_SOCCER` is a checkout of booster_soccer_showdown. `PROCTOR_SAI_RL` is a folder with the package sai_rl (and
imageio_ffmpeg, requests) as `pip install --no-deps --target` leaves it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from proctor import config_from_dict, run_evaluation
from proctor.suites.soccer.scoring.presets import PRESETS

pytest.importorskip("sai_mujoco", reason="the extra `soccer` is not installed")
pytest.importorskip("torch")
SOCCER, SAI_RL = os.environ.get("PROCTOR_SOCCER"), os.environ.get("PROCTOR_SAI_RL")
pytestmark = [
    pytest.mark.skipif(SOCCER is None, reason="PROCTOR_SOCCER names no checkout of booster_soccer_showdown"),
    pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning"),
]
MASTER, GOALIE = 42, "LowerT1GoaliePenaltyKick-v0"
RUNNER = """
import ast, json, pathlib, sys
folder, task, weights, master = sys.argv[1], sys.argv[2], json.loads(sys.argv[3]), int(sys.argv[4])
sys.path.insert(0, folder)
import gymnasium, numpy as np, sai_mujoco, torch
torch.set_num_threads(1)
from model import BoosterModel
from sai_rl.benchmark.benchmark import run_benchmark
from sai_rl.model.model_manager import ModelManager

class Paid(gymnasium.Wrapper):
    def step(self, action):
        seen, _, terminated, truncated, info = self.env.step(action)
        paid = 0.0
        if terminated or truncated:
            for name, value in {**self.env.unwrapped.compute_reward(), "steps": 1.0}.items():
                paid += float(value) * weights.get(name, 0.0)
        return seen, paid, terminated, truncated, info

def make(index=0, **keys):
    return Paid(gymnasium.make(task, render_mode="rgb_array", **keys))

text = pathlib.Path(folder, "submit_sai.py").read_text()
source = next(ast.get_source_segment(text, node) for node in ast.parse(text).body if isinstance(node, ast.ClassDef))
torch.manual_seed(0)
manager = ModelManager(env=make(), model=BoosterModel(folder + "/model.pt"), preprocessor_class=source)
asked = []
def act(seen, info):
    asked.append(1)
    return manager.get_action(seen, info)
(found,), _, _ = run_benchmark(make, act, num_envs=1, seed=master)
print(json.dumps({"score": found["score"], "steps": len(asked)}))
"""


@pytest.fixture
def submission(monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    return Path(SOCCER or "") / "imitation_learning" / "submission"


def ours(folder: Path, out: Path, **keys: object) -> tuple[float, int]:
    raw = {
        "agents": [
            {"name": "theirs", "policy": "soccer/submission", "checkpoint": str(folder), "options": {"trust": True}}
        ],
        "tasks": [{"suite": "soccer", "options": {"task": GOALIE, "info": True, "match_seeds": {"master": MASTER}}}],
        "n_trials": 1,
        "output_root": str(out),
        "workers": "inline",
        **keys,
    }
    run = run_evaluation(config_from_dict(raw))
    (agent,) = json.loads((run.path / "report.json").read_text())["agents"]
    return agent["score_mean"], agent["steps_total_mean"]


def test_the_folder_runs_with_no_code(submission: Path, tmp_path: Path) -> None:
    score, steps = ours(submission, tmp_path, max_episode_steps=20)
    assert steps == 20
    assert score == score


@pytest.mark.skipif(SAI_RL is None, reason="PROCTOR_SAI_RL names no folder with the package sai_rl")
def test_its_number_is_that_of_the_competitions_own_runner_to_the_last_digit(submission: Path, tmp_path: Path) -> None:
    weights = json.dumps(dict(PRESETS["sai/goalie_penalty_kick"]))
    command = [sys.executable, "-W", "ignore", "-c", RUNNER, str(submission), GOALIE, weights, str(MASTER)]
    environment = {**os.environ, "PYTHONPATH": SAI_RL or "", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    official = json.loads(done.stdout.splitlines()[-1])
    assert ours(submission, tmp_path) == (official["score"], official["steps"])
