"""A policy that mjlab's own exporter wrote, on three G1s, beside what mjlab's own environment shows it.

`PROCTOR_MJLAB_PYTHON` is an interpreter that has mjlab. It takes a minute or two.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from shared_data import shared_data

from proctor import config_from_dict, run_evaluation
from proctor.config.models import AgentCfg
from proctor.policies import load_policy
from proctor.policies.protocol import Batch, SpaceInfo
from proctor.suites.tracking.motions import load_motions
from proctor.suites.tracking.options import TrackingOptions
from proctor.suites.tracking.robot import load_robot
from proctor.suites.tracking.suite import TrackingSuite
from proctor_host.trials import Trial

PYTHON = os.environ.get("PROCTOR_MJLAB_PYTHON")
pytestmark = pytest.mark.skipif(PYTHON is None, reason="PROCTOR_MJLAB_PYTHON names no interpreter that has mjlab")
pytest.importorskip("onnxruntime")
GROUPS = ["state", "reference", "qpos", "qvel"]
ROBOTS = ("ours", "menagerie", "mjlab's scene")


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mjlab")
    robot = load_robot("builtin:g1")
    motion = load_motions(["procedural:squat"], robot).reference(0)
    rows = np.concatenate([motion.qpos[:60, :3], motion.qpos[:60, [4, 5, 6, 3]], motion.qpos[:60, 7:]], axis=1)
    np.savetxt(folder / "squat.csv", rows, delimiter=",")
    script = Path(__file__).parents[2] / "support" / "mjlab_export.py"
    command = [PYTHON or "", str(script), str(folder), str(folder / "squat.csv")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return folder


def options(folder: Path, robot: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    if robot == "menagerie":
        monkeypatch.setenv("MENAGERIE_ROOT", str(shared_data("menagerie")))
    named = {"ours": "builtin:g1", "menagerie": "menagerie:unitree_g1"}.get(robot, str(folder / "scene" / "scene.xml"))
    motions = {"path": str(folder / "motion.npz"), "fps": 50, "velocities": "file"}
    return {"robot": named, "motions": [motions], "observations": GROUPS}


@pytest.mark.parametrize("robot", ROBOTS)
def test_it_is_shown_what_mjlab_shows_it(exported: Path, robot: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """To the last digits of float32 in the first step; then physics differ a little (float32 and float64, contacts)."""
    cfg = TrackingOptions.model_validate(options(exported, robot, monkeypatch))
    suite, trials = TrackingSuite(), [Trial("theirs", "t", 0, 0)]
    env = suite.make(cfg, render=False, worlds=1)
    spaces = SpaceInfo({"t": env.observation_space}, {"t": env.action_space}, {"t": lambda: suite.briefing(cfg)})
    agent = AgentCfg(name="theirs", policy="tracking/mjlab", checkpoint=str(exported / "policy.onnx"))
    policy: Any = load_policy(agent, spaces)
    theirs = np.load(exported / "observed.npz")
    (seen,), state = env.reset([0], [0], [0]), policy.reset(trials)
    for step in range(len(theirs["obs"])):
        rows = {name: np.asarray(value)[None] for name, value in seen.items()}
        batch = Batch(rows, state, [np.random.default_rng(0)], trials)
        shown = policy.observe("t", batch, slice(None))[0]
        answer = policy.act(batch)
        if step == 0:
            np.testing.assert_allclose(shown, theirs["obs"][0], atol=2e-6)
            np.testing.assert_allclose(answer.state[0], theirs["actions"][0], atol=2e-6)
        np.testing.assert_allclose(shown[:58], theirs["obs"][step][:58], atol=2e-6, err_msg="the reference's frame")
        assert np.abs(rows["qpos"][0] - theirs["qpos"][step]).max() < 0.1
        state, seen = answer.state, env.step({0: np.asarray(answer.actions)[0]})[0].observation
    env.close()


@pytest.mark.parametrize("robot", ROBOTS)
def test_it_runs_with_no_code(exported: Path, robot: str, monkeypatch: pytest.MonkeyPatch) -> None:
    agents = [{"name": "theirs", "policy": "tracking/mjlab", "checkpoint": str(exported / "policy.onnx")}]
    tasks = [{"suite": "tracking", "options": options(exported, robot, monkeypatch)}]
    run = run_evaluation(config_from_dict({"agents": agents, "tasks": tasks, "output_root": str(exported / "runs")}))
    (result,) = run.results()
    assert result.outcome.scored
    assert result.steps_total == len(np.load(exported / "motion.npz")["joint_pos"]) - 2, "one frame per control step"


def test_the_motion_in_its_file_is_that_of_mjlabs_npz(exported: Path) -> None:
    """To the byte: both are float32."""
    options = {"fps": 50, "velocities": "file"}
    both = [exported / name for name in ("policy.onnx", "motion.npz")]
    inside, beside = (
        load_motions([{"path": str(path), **options}], load_robot("builtin:g1")).reference(0) for path in both
    )
    for name in ("qpos", "qvel", "body_pos", "body_quat"):
        assert np.array_equal(getattr(inside, name), getattr(beside, name)), name


def test_it_runs_with_its_file_alone(exported: Path) -> None:
    """Policy and motion in one file; the episode is that with the motion's own file, to the byte."""
    agents = [{"name": "theirs", "policy": "tracking/mjlab", "checkpoint": str(exported / "policy.onnx")}]
    episodes = []
    for motion in ("policy.onnx", "motion.npz"):
        given = {"motions": [{"path": str(exported / motion), "fps": 50, "velocities": "file"}], "observations": GROUPS}
        tasks = [{"suite": "tracking", "name": "t", "options": given}]
        run = run_evaluation(
            config_from_dict({"agents": agents, "tasks": tasks, "output_root": str(exported / "runs")})
        )
        (result,) = run.results()
        episodes.append(run.signals(result)["actions"].tobytes())
    assert episodes[0] == episodes[1]


@pytest.mark.timeout(900)
def test_it_runs_in_mjlabs_own_task(exported: Path) -> None:
    """The same file in the suite mjlab, and the checkpoint beside it."""
    agents = [
        {"name": "exported", "checkpoint": str(exported / "policy.onnx")},
        {
            "name": "checkpoint",
            "policy": "mjlab/rsl_rl",
            "checkpoint": str(exported / "model.pt"),
            "options": {"activation": "elu"},
        },
    ]
    overrides = {"commands.motion.motion_file": str(exported / "motion.npz")}
    options = {"task": "Mjlab-Tracking-Flat-Unitree-G1", "overrides": overrides}
    cfg = {
        "agents": agents,
        "tasks": [{"suite": "mjlab", "name": "t", "options": options, "runtime": {"python": PYTHON}}],
        "n_trials": 1,
        "max_episode_steps": 10,
        "output_root": str(exported / "runs"),
    }
    run = run_evaluation(config_from_dict(cfg))
    assert all(result.outcome.scored for result in run.results())
    one, other = (run.signals(f"{agent['name']}/t/0")["actions"] for agent in agents)
    np.testing.assert_allclose(one, other, rtol=0, atol=1e-4)
