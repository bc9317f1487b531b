"""The motion that an exported tracking policy carries in its ONNX file: mjlab and others that follow BeyondMimic write
it beside the network, which gives the frame that the input `time_step` counts.

The file does not say how many frames there are. Counted from the end, the first frame is the last that can be had: a
place before it is outside of the table, which is an error in any runtime of ONNX.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from proctor.errors import InputError, MissingExtra
from proctor.suites.tracking.motions.checks import RawMotion
from proctor.suites.tracking.motions.options import MotionOptions

SUFFIX = ".onnx"
CLOCK = "time_step"
POSES = ("joint_pos", "body_pos_w", "body_quat_w")
VELOCITIES = ("joint_vel", "body_lin_vel_w", "body_ang_vel_w")
MOST_FRAMES = 1_000_000
MOST_INPUT = 1_000_000
"""Numbers that an input may have."""
FATAL = 4
"""The level of onnxruntime's log at which a frame that is not there is not worth a line."""


def read_bundled(path: Path, root_body: str, options: MotionOptions) -> RawMotion:
    """The motion. Raises InputError for a file that carries none, and where nobody says its rate."""
    session = _session(path)
    names = [value.name for value in session.get_outputs()]
    missing = [name for name in POSES if name not in names]
    inputs = {value.name: value for value in session.get_inputs()}
    if missing or CLOCK not in inputs:
        raise InputError(
            f"{path} carries no motion: expected the input {CLOCK} and the outputs {', '.join(POSES)}, found "
            f"{', '.join(inputs)} and {', '.join(names)}. Name the motion's own file"
        )
    if options.fps is None:
        raise InputError(f"{path} does not say how many frames a second its motion has: set the option fps")
    wanted = [name for name in (*POSES, *VELOCITIES) if name in names]
    frames = _frames(session, inputs, wanted, path)
    said = session.get_modelmeta().custom_metadata_map
    root = _root(said, root_body, frames["body_pos_w"].shape[1], path)
    return RawMotion(
        name=path.stem,
        fps=options.fps,
        root_pos=frames["body_pos_w"][:, root],
        root_quat=frames["body_quat_w"][:, root],
        joint_pos=frames["joint_pos"],
        joint_names=[name.strip() for name in said["joint_names"].split(",")] if said.get("joint_names") else None,
        root_lin_vel=frames["body_lin_vel_w"][:, root] if "body_lin_vel_w" in frames else None,
        root_ang_vel=frames["body_ang_vel_w"][:, root] if "body_ang_vel_w" in frames else None,
        joint_vel=frames.get("joint_vel"),
    )


def _session(path: Path) -> Any:
    try:
        runtime = importlib.import_module("onnxruntime")
    except ModuleNotFoundError:
        raise MissingExtra(f"the motion in {path.name}", "onnxruntime", "onnx") from None
    settings = runtime.SessionOptions()
    settings.intra_op_num_threads = settings.inter_op_num_threads = 1
    settings.log_severity_level = FATAL
    try:
        return runtime.InferenceSession(str(path), settings, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise InputError(f"{path} cannot be loaded by onnxruntime: {error}") from None


def _frames(session: Any, inputs: dict[str, Any], wanted: list[str], path: Path) -> dict[str, np.ndarray]:
    """Every frame of the outputs, (frames, ...), in their order."""
    idle = {}
    for name, value in inputs.items():
        shape = [size if isinstance(size, int) else 1 for size in value.shape]
        if math.prod(shape) > MOST_INPUT:
            raise InputError(f"{path}: its input {name} has shape {shape}; expected {MOST_INPUT:,} numbers at most")
        idle[name] = np.zeros(shape, np.int64 if "int64" in value.type else np.float32)

    def at(place: int) -> list[np.ndarray] | None:
        """The frame so many from the end; None where there is none."""
        try:
            found = session.run(wanted, {**idle, CLOCK: np.full_like(idle[CLOCK], -place)})
        except Exception:
            return None
        return [np.asarray(part)[0] for part in found]

    count = _count(lambda place: at(place) is not None)
    rows = [row for row in map(at, range(count, 0, -1)) if row is not None]
    shapes = {tuple(part.shape for part in row) for row in rows}
    if not rows or len(shapes) > 1 or [part.ndim for part in rows[0][: len(POSES)]] != [1, 2, 2]:
        raise InputError(f"{path}: the motion in it cannot be read frame by frame; name the motion's own file")
    return {name: np.stack(columns) for name, columns in zip(wanted, zip(*rows, strict=True), strict=True)}


def _count(there: Callable[[int], bool]) -> int:
    """The largest number that is there, where all smaller ones are; 0 where there is no end to it."""
    high = 1
    while there(high):
        high *= 2
        if high > MOST_FRAMES:
            return 0
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if there(middle) else (low, middle)
    return low


def _root(said: dict[str, str], root_body: str, bodies: int, path: Path) -> int:
    """Which of the motion's bodies is the robot's root: by the names in the file, else the first."""
    names = [name.strip() for name in said["body_names"].split(",")] if said.get("body_names") else []
    if not names:
        return 0
    if len(names) != bodies or root_body not in names:
        raise InputError(
            f"{path}: its motion has {bodies} bodies, which its metadata call {', '.join(names)}; expected as many "
            f"names, and {root_body} among them"
        )
    return names.index(root_body)
