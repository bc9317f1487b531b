"""What a policy sees, as pure functions of arrays: the same ones for simulated worlds and for reference motions.

Leading axes (worlds, frames, or none) are kept. Quaternions are wxyz; `qvel[3:6]` is the root's angular velocity in its
own frame, velocities of bodies are in the world's. J joints, B bodies of the model, N observed bodies.

- `state` (2J + 6): joint positions minus the default pose, joint velocities, direction of gravity and angular velocity
  of the root, both in the root's frame.
- `privileged_state` (1 + 3 (N - 1) + 12 N): root height; then, in a frame that stands where the root is and is turned
  by its heading alone: positions of the observed bodies but the root, rotations of all (x axis and z axis of each:
  tangent and normal), linear velocities, angular velocities.
- `reference` (2J + 15 for each frame of the window): joint positions and velocities of the reference, position of its
  anchor in the robot's anchor frame, the first two columns of its anchor's rotation matrix there (row by row), linear
  and angular velocity of its root in its own root frame.
"""

from __future__ import annotations

import numpy as np

from proctor.suites.tracking import rotations
from proctor.suites.tracking.bodies import Bodies
from proctor.suites.tracking.layout import HumanoidVerseLayout
from proctor.suites.tracking.motions import Frames
from proctor.suites.tracking.robot import Robot


def state_size(robot: Robot) -> int:
    return 2 * robot.description.n_joints + 6


def privileged_size(robot: Robot) -> int:
    others = int((robot.observed != robot.root).sum())
    return 1 + 3 * others + 12 * len(robot.observed)


def window_row_size(robot: Robot) -> int:
    return 2 * robot.description.n_joints + 15


def state_observation(robot: Robot, qpos: np.ndarray, qvel: np.ndarray) -> np.ndarray:
    """(..., 2J + 6) of `qpos` (..., 7 + J) and `qvel` (..., 6 + J)."""
    from proctor.suites.tracking import kernels

    flat_qpos, flat_qvel = (np.ascontiguousarray(a, np.float64).reshape(-1, a.shape[-1]) for a in (qpos, qvel))
    out = np.empty((len(flat_qpos), state_size(robot)))
    kernels.state(flat_qpos, flat_qvel, robot.description.default_pose, out)
    return out.reshape(*qpos.shape[:-1], -1)


def privileged_observation(
    robot: Robot, body_pos: np.ndarray, body_quat: np.ndarray, body_lin_vel: np.ndarray, body_ang_vel: np.ndarray
) -> np.ndarray:
    """(..., 1 + 3 (N - 1) + 12 N) of poses and velocities of all bodies, (..., B, 3 or 4), in the world frame. Where
    the root's x axis points straight up or down, the heading is 0."""
    from proctor.suites.tracking import kernels

    lead, bodies = body_pos.shape[:-2], body_pos.shape[-2]
    flat = tuple(
        np.ascontiguousarray(a, np.float64).reshape(-1, bodies, a.shape[-1])
        for a in (body_pos, body_quat, body_lin_vel, body_ang_vel)
    )
    out = np.empty((len(flat[0]), privileged_size(robot)))
    kernels.privileged(flat, robot.observed, robot.root, out)
    return out.reshape(*lead, -1)


def write_privileged(robot: Robot, bodies: Bodies, out: np.ndarray) -> None:
    """The privileged observation of n worlds into `out` (n, ...), in its precision."""
    from proctor.suites.tracking import kernels

    kernels.privileged(tuple(bodies), robot.observed, robot.root, out)


def window_observation(
    robot: Robot, anchor: tuple[np.ndarray, np.ndarray], motion: Frames, rows: np.ndarray
) -> np.ndarray:
    """(..., K, 2J + 15): the rows (..., K) of `motion` as the robot sees them. `anchor` is position (..., 3) and
    rotation (..., 4) of the robot's anchor."""
    position, rotation = anchor[0][..., None, :], anchor[1][..., None, :]
    qpos, qvel = motion.qpos[rows], motion.qvel[rows]
    there = rotations.multiply(rotations.conjugate(rotation), motion.body_quat[rows, robot.anchor])
    columns = np.stack([rotations.x_axis(there), rotations.y_axis(there)], axis=-1)
    return np.concatenate(
        [
            qpos[..., 7:],
            qvel[..., 6:],
            rotations.into(rotation, motion.body_pos[rows, robot.anchor] - position),
            columns.reshape(*rows.shape, 6),
            rotations.into(qpos[..., 3:7], qvel[..., :3]),
            qvel[..., 3:6],
        ],
        axis=-1,
    )


def reference_observations(
    robot: Robot, reference: Frames, *, velocity_multiplier: float = 1.0, layout: HumanoidVerseLayout | None = None
) -> dict[str, np.ndarray]:
    """What a robot that follows the reference perfectly observes in each of its T frames: `state` (T, 2J + 6) and
    `privileged_state` (T, ...). All velocities are scaled by `velocity_multiplier`. With HumanoidVerse's layout, the
    root's angular velocity in `state` is that of the world frame, without the layout's scales: so its models are
    trained."""
    scale = velocity_multiplier
    state = state_observation(robot, reference.qpos, reference.qvel * scale)
    if layout is not None:
        state[..., -3:] = reference.body_ang_vel[..., robot.root, :] * scale
    return {
        "state": state,
        "privileged_state": privileged_observation(
            robot,
            reference.body_pos,
            reference.body_quat,
            reference.body_lin_vel * scale,
            reference.body_ang_vel * scale,
        ),
    }


def reference_signals(robot: Robot, reference: Frames) -> dict[str, np.ndarray]:
    """What is recorded of a robot that follows the reference perfectly, in each of its T frames."""
    return {
        "joint_pos": reference.joint_pos,
        "body_pos": reference.body_pos[:, robot.tracked],
        "root_pos": reference.root_pos,
        "root_quat": reference.root_quat,
        "anchor_quat": reference.body_quat[:, robot.anchor],
        "observed_joint_pos": reference.joint_pos - robot.description.default_pose,
    }
