"""Motion files as they are: CSV, NPZ and PKL. (`bundled` has the motion in a policy's file.)

CSV: per line root position 3, root quaternion 4, joint angles; an optional header may name the joints. NPZ: `fps`,
`joint_pos`, `body_pos_w`, `body_quat_w` (the first body is the root), optionally `joint_names`, `joint_vel`,
`body_lin_vel_w`, `body_ang_vel_w`. PKL (of pickle, or of joblib without compression): a dict of `root_pos` (or
`root_trans_offset`), `root_rot`, `dof_pos` (or `dof`), `fps`, or a dict of such by name. Where rotation or joints are
missing, they are taken from `pose_aa`, the rotation vectors of the root and of each joint.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from proctor.errors import InputError
from proctor.foreign import read_npz
from proctor.suites.tracking.motions import bundled
from proctor.suites.tracking.motions.checks import RawMotion
from proctor.suites.tracking.motions.options import MotionOptions
from proctor.suites.tracking.robot import Robot
from proctor.unpickle import read_pickle

CSV_FPS = 30.0
SUFFIXES = (".csv", ".npz", ".pkl", ".pickle")
"""Of motion files in a folder. A policy with a motion in it is read where it is named."""
_ROOT_COLUMNS = 7


def read_motions(path: Path, robot: Robot, options: MotionOptions) -> list[RawMotion]:
    """The motions of one file: one, but for a PKL of several. Raises InputError for what cannot be read."""
    suffix = path.suffix.lower()
    if suffix == ".csv":
        return [_read_csv(path, robot.description.joint_names, options)]
    if suffix == ".npz":
        return [_read_npz(path, options)]
    if suffix == bundled.SUFFIX:
        return [bundled.read_bundled(path, robot.description.root_body, options)]
    if suffix in SUFFIXES:
        return _read_pkl(path, robot.description.n_joints, options)
    known = ", ".join((*SUFFIXES, bundled.SUFFIX))
    raise InputError(f'{path}: motions of the kind "{suffix}" are not known (known: {known})')


def _read_csv(path: Path, joints: Sequence[str], options: MotionOptions) -> RawMotion:
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read: {error}") from None
    lines = [line for line in lines if line.strip()]
    header = lines and not _is_number(lines[0].split(",")[0])
    rows = lines[1:] if header else lines
    if not rows:
        raise InputError(f"{path}: found no frames")
    table = _table(rows, _ROOT_COLUMNS + len(joints), path)
    return RawMotion(
        name=path.stem,
        fps=options.fps or CSV_FPS,
        quaternion_order="xyzw",
        root_pos=table[:, :3],
        root_quat=table[:, 3:_ROOT_COLUMNS],
        joint_pos=table[:, _ROOT_COLUMNS:],
        joint_names=_header_joints(lines[0], joints) if header else None,
    )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _table(rows: list[str], width: int, path: Path) -> np.ndarray:
    for frame, row in enumerate(rows):
        if row.count(",") != width - 1:
            raise InputError(
                f"{path}: frame {frame}: found {row.count(',') + 1} columns; expected {width}: root position 3, root "
                f"quaternion 4, joints {width - _ROOT_COLUMNS}"
            )
    try:
        return np.loadtxt(rows, delimiter=",", comments=None, ndmin=2)
    except ValueError:
        cells = ((f, c, cell) for f, row in enumerate(rows) for c, cell in enumerate(row.split(",")))
        frame, column, cell = next(found for found in cells if not _is_number(found[2]))
        raise InputError(f'{path}: frame {frame}: column {column + 1} is "{cell.strip()}"; expected a number') from None


def _header_joints(line: str, joints: Sequence[str]) -> list[str] | None:
    """The joints that a header names; None for a header that names none of the robot's."""
    names = [name.strip().strip('"').removesuffix("_dof") for name in line.split(",")][_ROOT_COLUMNS:]
    return names if set(names) & set(joints) else None


def _read_npz(path: Path, options: MotionOptions) -> RawMotion:
    try:
        found = read_npz(path)
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read as NPZ: {error}") from None
    _require(found, ("joint_pos", "body_pos_w", "body_quat_w"), str(path))
    for key, width in (("body_pos_w", 3), ("body_quat_w", 4)):
        if found[key].ndim != 3 or found[key].shape[1] == 0 or found[key].shape[2] != width:
            raise InputError(f"{path}: {key}: found an array {found[key].shape}; expected (frames, bodies, {width})")
    return RawMotion(
        name=path.stem,
        fps=_fps(found, options, str(path)),
        root_pos=found["body_pos_w"][:, 0],
        root_quat=found["body_quat_w"][:, 0],
        joint_pos=found["joint_pos"],
        joint_names=_names(found, "joint_names"),
        root_lin_vel=_first_body(found, "body_lin_vel_w"),
        root_ang_vel=_first_body(found, "body_ang_vel_w"),
        joint_vel=found.get("joint_vel"),
    )


def _first_body(found: Mapping[str, Any], key: str) -> np.ndarray | None:
    values = found.get(key)
    return values[:, 0] if values is not None and values.ndim == 3 and values.shape[1] else None


def _read_pkl(path: Path, joints: int, options: MotionOptions) -> list[RawMotion]:
    found = read_pickle(path)
    if not isinstance(found, dict) or not found:
        kind = "an empty dict" if isinstance(found, dict) else f"a {type(found).__name__}"
        raise InputError(f"{path}: found {kind}; expected a dict of root_pos, root_rot, dof_pos and fps")
    several = all(isinstance(value, dict) for value in found.values())
    motions = {str(name): value for name, value in found.items()} if several else {path.stem: found}
    return [_pkl_motion(path, name, value, joints, options) for name, value in motions.items()]


def _from_rotation_vectors(found: Mapping[str, Any], joints: int, where: str) -> dict[str, np.ndarray]:
    """Root rotation xyzw and joint angles of `pose_aa` (frames, 1 + joints or more, 3). The axis of a joint is one of
    the frame's own, so the sum of its rotation vector is its angle; what follows the joints (a head) has none."""
    pose = _numbers(found, "pose_aa", where)
    if pose.ndim != 3 or pose.shape[1] < 1 + joints or pose.shape[2] != 3 or pose.dtype.kind != "f":
        raise InputError(
            f"{where}: pose_aa: found an array {pose.shape} of {pose.dtype}; expected numbers (frames, {1 + joints} or "
            "more, 3)"
        )
    root = np.asarray(pose[:, 0], np.float64)
    angle = np.linalg.norm(root, axis=1, keepdims=True)
    axis = root / np.where(angle == 0.0, 1.0, angle)
    turn = np.concatenate([np.sin(angle / 2) * axis, np.cos(angle / 2)], axis=1)
    return {"root_rot": turn, "dof_pos": pose[:, 1 : 1 + joints].sum(axis=2)}


def _pkl_motion(path: Path, name: str, found: Mapping[str, Any], joints: int, options: MotionOptions) -> RawMotion:
    found = {{"root_trans_offset": "root_pos", "dof": "dof_pos"}.get(key, key): value for key, value in found.items()}
    where = str(path) if name == path.stem else f"{path} (motion {name})"
    if "pose_aa" in found:
        found = {**_from_rotation_vectors(found, joints, where), **found}
    _require(found, ("root_pos", "root_rot", "dof_pos"), where)
    angles = _numbers(found, "dof_pos", where)
    return RawMotion(
        name=name,
        fps=_fps(found, options, where),
        quaternion_order="xyzw",
        root_pos=np.atleast_1d(_numbers(found, "root_pos", where)),
        root_quat=_numbers(found, "root_rot", where),
        joint_pos=angles[..., 0] if angles.ndim == 3 and angles.shape[2] == 1 else angles,
        joint_names=_names(found, "joint_names") or _names(found, "dof_names"),
    )


def _numbers(found: Mapping[str, Any], key: str, where: str) -> np.ndarray:
    try:
        return np.asarray(found[key])
    except ValueError as error:
        raise InputError(f"{where}: {key} is no array: {error}") from None


def _names(found: Mapping[str, Any], key: str) -> list[str] | None:
    return [str(name) for name in np.atleast_1d(found[key])] if found.get(key) is not None else None


def _require(found: Mapping[str, Any], keys: Sequence[str], where: str) -> None:
    missing = [key for key in keys if key not in found]
    if missing:
        raise InputError(f"{where}: missing {', '.join(missing)} (found: {', '.join(map(str, found)) or 'nothing'})")


def _fps(found: Mapping[str, Any], options: MotionOptions, where: str) -> float:
    if options.fps is not None:
        return options.fps
    _require(found, ("fps",), f"{where} (set the option fps where the file does not say)")
    value = _numbers(found, "fps", where)
    if value.size != 1 or value.dtype.kind not in "fiu":
        raise InputError(f"{where}: fps: found {value.tolist()!r}; expected one number")
    return float(value.reshape(()))
