"""`legacy: bfm_zero` beside the reward functions of BFM-Zero's own benchmark, state by state.

`PROCTOR_BFM_ZERO` is a checkout of BFM-Zero; its rewards want dm_control (`pip install --no-deps dm_control` will do).
"""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

from proctor.suites.tracking.robot import Robot, load_robot
from proctor.suites.tracking.tasks import task_rewards

BFM_ZERO = os.environ.get("PROCTOR_BFM_ZERO")
pytestmark = pytest.mark.skipif(BFM_ZERO is None, reason="PROCTOR_BFM_ZERO names no checkout of BFM-Zero")
STATES = 60
TASKS = [
    "move-ego-0-0", "move-ego-low0.5-0-0", "move-ego-0-0.7", "move-ego-90-0.3", "move-ego--90-0.3", "move-ego-180-0.3",
    "move-ego-low0.6-0-0.7", "jump-1.2", "rotate-x-3-0.5", "rotate-y--3-0.5", "rotate-z-5-0.5", "rotate-z--5-0.5",
    "raisearms-l-l", "raisearms-l-m", "raisearms-m-m", "move-arms-0-0.7-m-m", "move-arms-180-0.4-l-m",
    "move-arms-0-0-m-l", "spin-arms-5-l-m", "spin-arms--5-l-l", "crouch-0", "crouch-0.25", "sitonground",
    "totheknee", "move-ego-low-0-0.5-m-l",
]  # fmt: skip


@pytest.fixture(scope="module")
def original() -> Any:
    """Its module of rewards, alone: its package imports simulators."""
    pytest.importorskip("dm_control", reason="BFM-Zero's rewards want dm_control")
    path = Path(BFM_ZERO or "") / "humanoidverse" / "envs" / "g1_env_helper" / "rewards.py"
    spec = importlib.util.spec_from_file_location("bfm_zero_rewards", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["bfm_zero_rewards"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["bfm_zero_rewards"]


@pytest.fixture(scope="module")
def model_file() -> str:
    folder = Path(BFM_ZERO or "") / "humanoidverse" / "data" / "robots" / "g1"
    return str(folder / "g1_29dof_old_freebase_noadditional_actuators.xml")


def states(robot: Robot) -> tuple[np.ndarray, np.ndarray]:
    """Around standing, crouching and lying, slow and quick, so that rewards are neither all 0 nor all 1."""
    rng = np.random.default_rng(0)
    qpos = np.tile(robot.default_qpos, (STATES, 1))
    qpos[:, 2] = rng.choice([0.05, 0.3, 0.5, 0.76, 0.8], STATES) + rng.normal(0, 0.03, STATES)
    lean = rng.normal(0, 1, (STATES, 3)) * rng.choice([0.02, 0.3, 1.5], STATES)[:, None]
    yaw = rng.uniform(-np.pi, np.pi, STATES)
    for i in range(STATES):
        turn, tilt = np.zeros(4), np.zeros(4)
        mujoco.mju_axisAngle2Quat(turn, [0.0, 0.0, 1.0], yaw[i])
        mujoco.mju_euler2Quat(tilt, lean[i], "xyz")
        mujoco.mju_mulQuat(qpos[i, 3:7], turn, tilt)
    qpos[:, 7:] += rng.normal(0, 1, (STATES, 29)) * rng.choice([0.05, 0.6], STATES)[:, None]
    qvel = rng.normal(0, 1, (STATES, 35)) * rng.choice([0.01, 0.2, 1.0, 4.0], STATES)[:, None]
    return qpos, qvel


def test_every_task_pays_what_the_original_pays(original: Any, model_file: str) -> None:
    theirs = mujoco.MjModel.from_xml_path(model_file)
    robot = load_robot(model_file, description="builtin:g1")
    qpos, qvel = states(robot)
    known = [cls for cls in vars(original).values() if isinstance(cls, type) and hasattr(cls, "reward_from_name")]
    for reward in task_rewards(TASKS, robot, legacy="bfm_zero"):
        found = [made for cls in known if (made := cls.reward_from_name(reward.name)) is not None]
        assert len(found) == 1, reward.name
        expected = [found[0](theirs, p, v, np.zeros(theirs.nu)) for p, v in zip(qpos, qvel, strict=True)]
        np.testing.assert_allclose(reward(qpos, qvel, np.zeros((STATES, 29))), expected, atol=1e-9, err_msg=reward.name)
        assert max(expected) > 0, f"{reward.name}: nothing was compared"


def test_our_own_g1_pays_nearly_the_same(original: Any, model_file: str) -> None:
    """Its masses are the real robot's, its head is where the original's is."""
    robots = [load_robot(model_file, description="builtin:g1"), load_robot("builtin:g1")]
    qpos, qvel = states(robots[0])
    both = [
        [reward(qpos, qvel, np.zeros((STATES, 29))) for reward in task_rewards(TASKS, robot, legacy="bfm_zero")]
        for robot in robots
    ]
    assert np.abs(np.array(both[0]) - np.array(both[1])).max() < 0.05
