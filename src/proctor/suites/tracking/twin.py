"""Where all bodies are in given states, computed by MuJoCo for many worlds in one threaded call.

The sensor data that a rollout returns with a state belong to the state before it, one physics step earlier. So poses
of recorded states are asked of a twin: the robot's kinematic tree without geoms, motors and forces, and with sensors on
every body. One rollout step of the twin reads its sensors in the very states it is given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import mujoco


class Bodies(NamedTuple):
    """Of all bodies but the world, in the world frame: `pos` (n, B, 3) m, `quat` (n, B, 4) wxyz, and the velocities of
    the bodies' origins, `lin_vel` (n, B, 3) m/s and `ang_vel` (n, B, 3) rad/s."""

    pos: np.ndarray
    quat: np.ndarray
    lin_vel: np.ndarray
    ang_vel: np.ndarray


class Twin:
    """The kinematics of `model`, to be called with a rollout object whose pool has `threads` threads."""

    def __init__(self, model: mujoco.MjModel, threads: int):
        import mujoco

        self.model = twin_model(model)
        self._data = [mujoco.MjData(self.model) for _ in range(max(threads, 1))]
        self._n_bodies = model.nbody - 1

    def bodies(self, pool: Any, states: np.ndarray) -> Bodies:
        """Of `states` (n, 1 + nq + nv): time, qpos, qvel. The arrays are new ones."""
        n, b = len(states), self._n_bodies
        sensed = np.empty((n, 1, 13 * b))
        pool.rollout(
            [self.model] * n,
            self._data,
            np.ascontiguousarray(states),
            None,
            control_spec=0,
            nstep=1,
            state=np.empty((n, 1, states.shape[1])),
            sensordata=sensed,
            skip_checks=True,
        )
        pos, quat, lin, ang = np.split(sensed[:, 0], [3 * b, 7 * b, 10 * b], axis=1)
        return Bodies(pos.reshape(n, b, 3), quat.reshape(n, b, 4), lin.reshape(n, b, 3), ang.reshape(n, b, 3))


def twin_model(model: mujoco.MjModel) -> mujoco.MjModel:
    """The kinematic tree of a model, every body with unit inertia and four sensors, nothing acting on it."""
    import mujoco

    spec = mujoco.MjSpec()
    bodies: list[Any] = [spec.worldbody]
    for i in range(1, model.nbody):
        body = bodies[model.body_parentid[i]].add_body(
            name=str(i), pos=model.body_pos[i], quat=model.body_quat[i], mass=1.0, inertia=[1.0, 1.0, 1.0]
        )
        body.explicitinertial = True
        for j in range(model.body_jntadr[i], model.body_jntadr[i] + model.body_jntnum[i]):
            kind = mujoco.mjtJoint(model.jnt_type[j])
            ref = model.qpos0[model.jnt_qposadr[j]] if kind == mujoco.mjtJoint.mjJNT_HINGE else 0.0
            body.add_joint(type=kind, pos=model.jnt_pos[j], axis=model.jnt_axis[j], ref=ref)
        bodies.append(body)
    sensor = mujoco.mjtSensor
    for kind in (
        sensor.mjSENS_FRAMEPOS, sensor.mjSENS_FRAMEQUAT, sensor.mjSENS_FRAMELINVEL, sensor.mjSENS_FRAMEANGVEL
    ):  # fmt: skip
        for i in range(1, model.nbody):
            spec.add_sensor(type=kind, objtype=mujoco.mjtObj.mjOBJ_XBODY, objname=str(i))
    off = mujoco.mjtDisableBit
    spec.option.disableflags = int(
        off.mjDSBL_CONSTRAINT | off.mjDSBL_CONTACT | off.mjDSBL_ACTUATION | off.mjDSBL_GRAVITY | off.mjDSBL_EULERDAMP
    )
    return spec.compile()
