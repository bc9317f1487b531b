"""What a file's arrays must be before they are a motion of the robot. Errors name file, frame and joint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from proctor.errors import InputError
from proctor.suites.tracking.motions.motion import Motion
from proctor.suites.tracking.motions.options import MotionOptions
from proctor.suites.tracking.robot import Robot
from proctor.suites.tracking.rotations import continuous, normalized, rotate

_UNIT = 1e-2
"""How far a quaternion's length may be from one: files are written with few digits."""


@dataclass(frozen=True, eq=False)
class RawMotion(Motion):
    """A motion as a file has it: nothing checked yet. `root_quat` and joints are in the file's order, `root_ang_vel` in
    the frame that the options say."""

    quaternion_order: str = "wxyz"
    joint_names: Sequence[str] | None = None


def checked(raw: RawMotion, path: Path, robot: Robot, options: MotionOptions) -> Motion:
    """The motion, with joints in the robot's order and unit quaternions wxyz. Raises InputError for what is wrong."""
    where = str(path) if raw.name == path.stem else f"{path} (motion {raw.name})"
    if not np.isfinite(raw.fps) or raw.fps <= 0:
        raise InputError(f"{where}: found {raw.fps} frames a second; expected a positive number")
    if len(raw.root_pos) == 0:
        raise InputError(f"{where}: found no frames")
    columns = _columns(raw, robot, where, options)
    order = options.quaternion_order or raw.quaternion_order
    arrays = {
        "root_pos": _array(raw.root_pos, (3,), "root position", where, len(raw.root_pos)),
        "root_quat": _array(raw.root_quat, (4,), "root quaternion", where, len(raw.root_pos)),
        "joint_pos": _array(raw.joint_pos, (len(columns),), "joint positions", where, len(raw.root_pos))[:, columns],
    }
    quat = arrays["root_quat"] = _quaternions(arrays["root_quat"], order, where)
    _check_limits(arrays["joint_pos"], robot, where, options.joint_tolerance)
    if options.velocities == "file":
        arrays |= _velocities(raw, columns, quat, where, options)
    return Motion(name=raw.name, fps=float(raw.fps), **arrays)


def _array(values: np.ndarray, shape: tuple[int, ...], what: str, where: str, frames: int) -> np.ndarray:
    values = np.asarray(values)
    if values.dtype.kind not in "fiu" or values.shape != (frames, *shape):
        raise InputError(
            f"{where}: {what}: found an array {values.dtype} {values.shape}; expected numbers {(frames, *shape)}"
        )
    wrong = np.argwhere(~np.isfinite(values))
    if len(wrong):
        frame, column = wrong[0][:2]
        raise InputError(
            f"{where}: frame {frame}: {what}[{column}] is {values[frame, column]}; expected finite numbers"
        )
    return values.astype(np.float64)


def _columns(raw: RawMotion, robot: Robot, where: str, options: MotionOptions) -> list[int]:
    """For each joint of the robot its column in the file."""
    wanted = robot.description.joint_names
    names = options.joint_names or raw.joint_names
    if names is None:
        return list(range(len(wanted)))
    names = list(names)
    missing = [name for name in wanted if name not in names]
    extra = [name for name in names if name not in wanted]
    if missing or extra or len(names) != len(wanted):
        found = "; ".join(
            f"{what}: {', '.join(some)}" for what, some in (("missing", missing), ("unknown", extra)) if some
        )
        raise InputError(
            f"{where}: found {len(names)} joint names, expected the {len(wanted)} of {robot.description.name} "
            f"({found or 'a joint is named twice'})"
        )
    return [names.index(name) for name in wanted]


def _quaternions(quat: np.ndarray, order: str, where: str) -> np.ndarray:
    length = np.linalg.norm(quat, axis=1)
    wrong = np.flatnonzero(np.abs(length - 1) > _UNIT)
    if len(wrong):
        raise InputError(
            f"{where}: frame {wrong[0]}: the root quaternion {quat[wrong[0]].round(4).tolist()} has the length "
            f"{length[wrong[0]]:.4g}; expected 1"
        )
    if order == "xyzw":
        quat = quat[:, [3, 0, 1, 2]]
    return continuous(normalized(quat))


def _check_limits(joints: np.ndarray, robot: Robot, where: str, tolerance: float) -> None:
    lower, upper = robot.joint_range.T
    excess = np.maximum(lower - joints, joints - upper)
    wrong = np.argwhere(excess > tolerance)
    if not len(wrong):
        return
    frame, joint = wrong[0]
    name = robot.description.joint_names[joint]
    raise InputError(
        f"{where}: frame {frame}: {name} is at {joints[frame, joint]:.4f} rad, {excess[frame, joint]:.4f} beyond its "
        f"limits {lower[joint]:.4f} to {upper[joint]:.4f} ({len(np.unique(wrong[:, 0]))} frames and "
        f"{len(np.unique(wrong[:, 1]))} joints are out); check the joint order and the unit, or raise joint_tolerance "
        f"(now {tolerance:g})"
    )


def _velocities(
    raw: RawMotion, columns: list[int], quat: np.ndarray, where: str, options: MotionOptions
) -> dict[str, np.ndarray]:
    given = {"root_lin_vel": raw.root_lin_vel, "root_ang_vel": raw.root_ang_vel, "joint_vel": raw.joint_vel}
    missing = [key for key, value in given.items() if value is None]
    if missing:
        raise InputError(
            f"{where}: velocities: file, but the file has none of its own for {', '.join(missing)}; only an NPZ with "
            "joint_vel, body_lin_vel_w and body_ang_vel_w has; leave the option out"
        )
    found = {
        key: _array(np.asarray(value), (len(columns) if key == "joint_vel" else 3,), key, where, len(raw.root_pos))
        for key, value in given.items()
    }
    found["joint_vel"] = found["joint_vel"][:, columns]
    if options.angular_velocity_frame == "body":
        found["root_ang_vel"] = rotate(quat, found["root_ang_vel"])
    return found
