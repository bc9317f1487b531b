"""Bodies of worlds on MuJoCo Warp are where MuJoCo's own forward pass has them, whatever the state."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from tracking_worlds import g1

REASON = "worlds on a device need torch, MuJoCo Warp and Warp: make warp has them"
pytest.importorskip("torch", reason=REASON)
pytest.importorskip("mujoco_warp", reason=REASON)

import warp as wp  # noqa: E402 - it is there now

from proctor.suites.tracking.device.kinematics import Kinematics  # noqa: E402 - likewise

pytestmark = pytest.mark.timeout(600)  # the first run on a machine compiles kernels
ODD = """
<mujoco>
  <worldbody>
    <body name="base" pos="0 0 1">
      <freejoint/>
      <geom size="0.1"/>
      <body name="arm" pos="0.1 0.2 -0.1" quat="0.9 0.1 -0.3 0.2">
        <joint name="swing" axis="0 1 0.5" pos="0.05 -0.02 0.1" ref="0.3"/>
        <joint name="twist" axis="1 0 0" pos="-0.1 0 0.2"/>
        <geom size="0.1" pos="0.2 0 0"/>
        <body name="plate" pos="0 0.1 0.3" euler="20 30 40"><geom size="0.05"/></body>
        <body name="hand" pos="0.3 0 0"><joint name="wrist" axis="0 0 1"/><geom size="0.05"/></body>
      </body>
    </body>
    <body name="post" pos="2 0 0.5" euler="0 0 30"><geom size="0.1"/></body>
  </worldbody>
</mujoco>
"""
"""Hinges beside their bodies' origins, two on one body, a zero angle, a body without a joint, and one that stands."""


@pytest.mark.parametrize("robot", ["g1", "odd"])
def test_bodies_are_where_mujoco_has_them(robot):
    model = g1().model if robot == "g1" else mujoco.MjModel.from_xml_string(ODD)
    rng, n = np.random.default_rng(0), 7
    qpos, qvel = rng.normal(size=(n, model.nq)), rng.normal(size=(n, model.nv))
    qpos[:, 3:7] /= np.linalg.norm(qpos[:, 3:7], axis=1, keepdims=True)
    with wp.ScopedDevice("cpu"):
        kinematics = Kinematics(model, n)
        kinematics.look(*(wp.array(values, dtype=float) for values in (qpos, qvel)))
        found = [array.numpy() for array in kinematics.seen]
    data, spatial = mujoco.MjData(model), np.empty(6)
    for i in range(n):
        data.qpos, data.qvel = qpos[i], qvel[i]
        mujoco.mj_forward(model, data)
        for body in range(1, model.nbody):
            mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_XBODY, body, spatial, 0)
            expected = data.xpos[body], data.xquat[body], spatial[3:], spatial[:3]
            for array, values in zip(found, expected, strict=True):
                np.testing.assert_allclose(array[i, body - 1], values, atol=3e-5)
