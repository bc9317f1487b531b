"""Robots that several tests share; never changed by them."""

from __future__ import annotations

import functools

from proctor.suites.tracking.robot import Robot, load_robot

BIPED = """
<mujoco model="biped">
  <compiler angle="radian"/>
  <worldbody>
    <body name="trunk" pos="0 0 1">
      <freejoint/>
      <geom type="box" size="0.1 0.1 0.2" mass="5"/>
      <body name="arm" pos="0 0.2 0.1" quat="0.9 0.1 0.3 -0.2">
        <joint name="shoulder" axis="0 1 0" pos="0.01 -0.02 0.03" range="-1 2" armature="0.02"/>
        <joint name="twist" axis="0.6 0 0.8" pos="0 0.05 0" range="-2 2" ref="0.4"/>
        <geom type="capsule" fromto="0 0 0 0 0 -0.3" size="0.03" mass="1"/>
        <body name="hand" pos="0 0 -0.3">
          <joint name="wrist" axis="1 0 0" actuatorfrcrange="-3 3"/>
          <geom type="sphere" size="0.04" mass="0.2"/>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator>
    <position name="a" joint="shoulder" kp="60" kv="3" forcerange="-20 20"/>
    <motor name="b" joint="twist"/>
    <position name="c" joint="wrist" kp="10" forcerange="-4 4"/>
  </actuator>
  <sensor><jointactuatorfrc joint="wrist"/></sensor>
  <keyframe><key name="rest" qpos="0 0 0.9 1 0 0 0 0.3 -0.1 0.2"/></keyframe>
</mujoco>
"""
"""A model with everything that the G1 does not have: two hinges on one body, anchors off the origin, a joint whose zero
is elsewhere, actuators of two kinds."""


@functools.cache
def g1() -> Robot:
    """The built-in G1."""
    return load_robot("builtin:g1")
