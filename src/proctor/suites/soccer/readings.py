"""What is recorded of a step, beside the reward terms.

| signal | |
|---|---|
| `ball_pos_m`, `ball_vel_m_s` | (3,) in the world |
| `robot_pos_m` | (3,) of the robot's inertial sensor, in the trunk |
| `qpos` | the state of the simulation that a picture needs: positions of the ball, the robot and its joints, as MuJoCo orders them |
| `robot_fallen` | the trunk is lower than the robot stands |
| `ball_offside` | the ball has left the field, and not through the goal |
| `robot_ball_hits` | how often the robot has begun to touch the ball |
| `robot_ball_force_n`, `robot_outside_force_n`, `robot_self_force_n` | sums of normal forces between the robot and the ball, everything else (ground, posts, goalkeeper), itself |
"""  # noqa: E501 - a table

from __future__ import annotations

from typing import Any

import numpy as np


class Readings:
    """Reads one world. `reset` before a trial, `read` after each step. `base` is the unwrapped environment."""

    def __init__(self, base: Any):
        import mujoco

        self._base = base
        self._model, self._data = base.sim.model._model, base.sim.data._data
        self._contact_force, self._force = mujoco.mj_contactForce, np.empty(6)
        robot = set(base.robot_geom_ids)
        self._robot = [geom in robot for geom in range(self._model.ngeom)]
        self._ball = base.sim.model.geom_name2id("ball")
        self._ball_site = base.sim.model.site_name2id("ball")
        self._robot_site = base.sim.model.site_name2id(base.robots[0].parts["torso"].site_name)
        self._ball_dof = int(self._model.joint("env:ball").dofadr[0])
        self.reset()

    def reset(self) -> None:
        self._hits, self._touching = 0, False

    def places(self) -> tuple[np.ndarray, np.ndarray]:
        """Where the robot's inertial sensor and the ball are now, (3,) each."""
        return self._data.site_xpos[self._robot_site].copy(), self._data.site_xpos[self._ball_site].copy()

    def read(self, terms: dict[str, float]) -> dict[str, Any]:
        """The signals now; nothing in them changes later."""
        ball, outside, itself, touching = self._contacts()
        self._hits += touching and not self._touching
        self._touching = touching
        data = self._data
        return {
            "ball_pos_m": data.site_xpos[self._ball_site].copy(),
            "ball_vel_m_s": data.qvel[self._ball_dof : self._ball_dof + 3].copy(),
            "robot_pos_m": data.site_xpos[self._robot_site].copy(),
            "qpos": data.qpos.astype(np.float32),
            "robot_fallen": bool(self._base.robots[0].is_terminated()),
            "ball_offside": bool(terms["offside"]),
            "robot_ball_hits": self._hits,
            "robot_ball_force_n": ball,
            "robot_outside_force_n": outside,
            "robot_self_force_n": itself,
        }

    def _contacts(self) -> tuple[float, float, float, bool]:
        """Normal forces of the robot's contacts with the ball, with everything else and with itself; whether it touches
        the ball, be it without force."""
        robot, ball, force, touching = self._robot, self._ball, self._force, False
        at_ball, outside, itself = 0.0, 0.0, 0.0
        for number, (one, other) in enumerate(self._data.contact.geom.tolist()):
            robots = robot[one] + robot[other]
            if robots:
                self._contact_force(self._model, self._data, number, force)
                if robots == 2:
                    itself += force.item(0)
                elif ball in (one, other):
                    touching, at_ball = True, at_ball + force.item(0)
                else:
                    outside += force.item(0)
        return at_ball, outside, itself, touching
