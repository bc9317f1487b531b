"""Where all bodies are in the states of many worlds.

The sensor data that a rollout returns with a state belong to the state before it, one physics step earlier, and MuJoCo
has no call for the kinematics of many states. So poses of recorded states are computed here, by a compiled walk over
the kinematic tree. The results equal those of `mj_forward` and `mj_objectVelocity`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from proctor.suites.tracking.robot import Robot


class Bodies(NamedTuple):
    """Of all bodies but the world, in the world frame: `pos` (n, B, 3) m, `quat` (n, B, 4) wxyz, and the velocities of
    the bodies' origins, `lin_vel` (n, B, 3) m/s and `ang_vel` (n, B, 3) rad/s."""

    pos: np.ndarray
    quat: np.ndarray
    lin_vel: np.ndarray
    ang_vel: np.ndarray

    def rows(self, rows: slice) -> Bodies:
        """Of some worlds."""
        return Bodies(*(array[rows] for array in self))


class BodyTree:
    """The kinematic tree of a robot."""

    def __init__(self, robot: Robot):
        from proctor.suites.tracking import kernels

        model = robot.model
        self._forward, self._n_bodies = kernels.forward, model.nbody - 1
        self._tree = (
            model.body_parentid[1:].astype(np.int64) - 1,
            model.body_pos[1:].copy(),
            model.body_quat[1:].copy(),
            model.body_jntadr[1:].astype(np.int64) - 1,
            model.body_jntnum[1:].astype(np.int64),
            model.jnt_pos[1:].copy(),
            model.jnt_axis[1:].copy(),
            model.qpos0[7:].copy(),
            robot.root,
        )

    def empty(self, n: int) -> Bodies:
        """New arrays for n worlds."""
        shape = (n, self._n_bodies)
        return Bodies(np.empty((*shape, 3)), np.empty((*shape, 4)), np.empty((*shape, 3)), np.empty((*shape, 3)))

    def place(self, states: np.ndarray, out: Bodies) -> None:
        """The bodies of `states` (n, 1 + nq + nv), C-contiguous: time, qpos, qvel."""
        self._forward(states, self._tree, tuple(out))

    def bodies(self, states: np.ndarray) -> Bodies:
        """Likewise, in new arrays."""
        found = self.empty(len(states))
        self.place(states, found)
        return found
