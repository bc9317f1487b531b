"""Pictures of a soccer trial from its recorded states."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from drawing import needs_frames

from proctor.rendering import offscreen_backend
from proctor.suites.soccer.portraits import worst_step
from proctor_host.npz import write_npz

STEPS = np.arange(6)


def test_the_first_fall_is_the_worst_moment() -> None:
    fallen = np.array([0, 0, 0, 1, 1, 1], bool)
    height = np.array([0.7, 0.7, 0.6, 0.3, 0.25, 0.25])
    arrays = {"robot_fallen": fallen, "robot_pos_m": np.c_[STEPS, STEPS, height], "rewards": -np.ones(6)}
    assert worst_step(arrays, STEPS) == (3, "first fall")
    assert worst_step(arrays, STEPS[:4]) == (3, "falls fastest"), "where the trial ends with its fall"


def test_without_a_fall_it_is_the_lowest_reward() -> None:
    arrays = {"robot_fallen": np.zeros(6, bool), "rewards": np.array([1, 2, -3.5, np.nan, 0, 1])}
    assert worst_step(arrays, STEPS) == (2, "lowest reward, -3.5")


def test_a_state_is_drawn_as_the_simulator_was_in_it(tmp_path: Path) -> None:
    """Two records of the same seed: in one the robot has sunk and the ball has moved."""
    pytest.importorskip("sai_mujoco", reason="the extra `soccer` is not installed")
    needs_frames()
    from proctor.suites.soccer.env import SoccerEnv
    from proctor.suites.soccer.options import SoccerOptions

    options = {"task": "kick_to_target"}
    env = SoccerEnv(SoccerOptions.model_validate(options))
    env.reset(5, 0)
    qpos = np.tile(env.base.sim.data._data.qpos.astype(np.float32), (4, 1))
    env.close()
    qpos[2:, 9] -= 0.3
    qpos[2:, 0] += 0.5
    record = {"qpos": qpos, "rewards": np.zeros(4), "action_dt_s": np.array(0.5), "reset_seed": np.uint64(5)}
    write_npz(tmp_path / "a.npz", {**record, "robot_fallen": np.array([0, 0, 1, 1], bool)})
    write_npz(tmp_path / "b.npz", {name: array for name, array in record.items() if name != "qpos"})
    found = drawn(tmp_path, options, ("a", "b"))
    assert found["a"] == {"moments": [["start", "0.50 s"], ["worst", "first fall, 1.50 s"], ["end", "2.00 s"]]}
    assert "the record has no states of this task" in found["b"]["skipped"]
    start, worst, end = (np.load(tmp_path / f"a.{name}.npy") for name in ("start", "worst", "end"))
    assert start.shape == (300, 400, 3)
    assert start.std() > 10, "there is something to see"
    assert np.array_equal(worst, end)
    assert not np.array_equal(start, worst)


def drawn(folder: Path, options: dict[str, str], names: tuple[str, ...]) -> dict[str, dict]:
    task = {"suite": "soccer", "options": options, "trials": {name: str(folder / f"{name}.npz") for name in names}}
    backend = {"MUJOCO_GL": found} if (found := offscreen_backend(os.environ)) else {}
    ran = subprocess.run(
        [sys.executable, "-m", "proctor.runs.portraying"],
        input=json.dumps({"into": str(folder), "tasks": [task]}),
        env=os.environ | backend,
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout.splitlines()[-1])
