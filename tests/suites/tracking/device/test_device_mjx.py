"""MJX: a small robot, for JAX takes minutes to compile a humanoid. All else is the same code as on MuJoCo Warp."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from proctor.errors import InputError
from proctor.suites.tracking.batch import TrackingBatchEnv
from proctor.suites.tracking.bodies import BodyTree
from proctor.suites.tracking.motions import MotionLibrary, Reference
from proctor.suites.tracking.options import TrackingOptions
from proctor.suites.tracking.robot import Robot, load_robot

REASON = "worlds on MJX need torch, JAX and mujoco-mjx: make warp has them"
torch: Any = pytest.importorskip("torch", reason=REASON)
pytest.importorskip("jax", reason=REASON)
pytest.importorskip("mujoco.mjx", reason=REASON)

from proctor.suites.tracking.device.environment import TrackingDeviceEnv  # noqa: E402 - it needs them

pytestmark = pytest.mark.timeout(900)  # JAX compiles
SMALL = """
<mujoco model="small">
  <option integrator="implicitfast" iterations="10" ls_iterations="10"/>
  <worldbody>
    <geom name="floor" type="plane" size="0 0 1"/>
    <body name="base" pos="0 0 1">
      <freejoint/>
      <geom type="sphere" size="0.1" mass="2"/>
      <body name="leg" pos="0 0 -0.1">
        <joint name="knee" axis="0 1 0" range="-1 1" limited="true"/>
        <geom type="capsule" fromto="0 0 0 0 0 -0.3" size="0.04" mass="1"/>
      </body>
    </body>
  </worldbody>
  <actuator><position name="knee" joint="knee" kp="20" kv="1"/></actuator>
</mujoco>
"""
GROUPS = ["state", "privileged_state", "reference", "qpos", "xquat", "motion", "frame"]


@pytest.fixture(scope="module")
def robot(tmp_path_factory: pytest.TempPathFactory) -> Robot:
    file: Path = tmp_path_factory.mktemp("robot") / "small.xml"
    file.write_text(SMALL)
    return load_robot(str(file))


def library(robot: Robot, height_m: float = 1.2, frames: int = 20) -> MotionLibrary:
    """The knee bends and stretches, high up."""
    states = np.zeros((frames, 1 + 8 + 7))
    states[:, 3], states[:, 4], states[:, 8] = height_m, 1.0, 0.3 * np.sin(np.arange(frames) / 5)
    bodies = BodyTree(robot).bodies(states)
    return MotionLibrary(
        [
            Reference(
                name="bend", dt_s=0.02, qpos=states[:, 1:9], qvel=states[:, 9:], body_pos=bodies.pos,
                body_quat=bodies.quat, body_lin_vel=bodies.lin_vel, body_ang_vel=bodies.ang_vel,
            )
        ]
    )  # fmt: skip


def test_worlds_on_mjx_are_those_on_the_processor_and_contained(robot):
    keys = {"motions": ["x"], "observations": GROUPS, "randomise": {"mass": [0.8, 1.2], "damping": [0.5, 1.5]}}
    motions = library(robot)
    cpu = TrackingBatchEnv(robot, motions, 2, TrackingOptions.model_validate(keys))
    device = TrackingDeviceEnv(robot, motions, 2, TrackingOptions.model_validate({**keys, "physics": "mjx"}))
    assert not device.exact
    first = [env.reset([0, 1], [5, 6], [0, 1]) for env in (device, cpu)]
    for mine, theirs in zip(*first, strict=True):
        for name, values in theirs.items():
            np.testing.assert_allclose(mine[name], values, atol=1e-5, err_msg=name)
    for k in range(6):
        actions = np.full((2, 1), np.sin(k), np.float32)
        mine, theirs = device.step_columns(None, actions), cpu.step_columns(None, actions)
        for name, values in {**theirs.observation, **theirs.signals}.items():
            found = {**mine.observation, **mine.signals}[name]
            np.testing.assert_allclose(found, values, atol=1e-3, rtol=1e-3, err_msg=name)
        np.testing.assert_allclose(mine.reward, theirs.reward, atol=1e-4)
        if k == 2:
            again = [env.reset([1], [9], [0])[0]["qpos"] for env in (device, cpu)]
            np.testing.assert_allclose(*again, atol=1e-6)
    device.worlds.physics.qvel[0, 3] = 1e15
    rewards = device.step_columns(None, np.zeros((2, 1), np.float32)).reward
    assert np.isnan(rewards).tolist() == [True, False]
    cpu.close()
    device.close()


def test_room_for_contacts_is_no_option_of_mjx(robot):
    options = TrackingOptions.model_validate({"motions": ["x"], "physics": "mjx", "contacts": 5})
    with pytest.raises(InputError, match="MJX has room for all of them; leave them out"):
        TrackingDeviceEnv(robot, library(robot), 2, options)
