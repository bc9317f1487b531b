"""What is compared: the track of an agent or of a reference, one row per frame, and how.

Positions are metres in the world frame with z up, angles are radians, quaternions are wxyz. The first row is the state
at the start, before any step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np

from proctor.errors import InputError

Legacy = Literal["bfm_zero"]

_SHAPES: dict[str, tuple[int | None, ...]] = {
    "joint_pos": (None,),
    "body_pos": (None, 3),
    "root_pos": (3,),
    "root_quat": (4,),
    "anchor_quat": (4,),
    "observed": (None,),
}
"""Shape of one frame of each array; None is any number."""


@dataclass(frozen=True, eq=False)
class Track:
    """T frames, kept as float64. Arrays that are left out take their metrics with them.

    `joint_pos` (T, J) joint angles; `body_pos` (T, B, 3) positions of the tracked bodies; `root_pos` (T, 3) and
    `root_quat` (T, 4) pose of the root; `anchor_quat` (T, 4) orientation of the anchor body, the torso; `observed`
    (T, D) the joint positions as the agent was shown them, noise included.
    """

    joint_pos: np.ndarray | None = None
    body_pos: np.ndarray | None = None
    root_pos: np.ndarray | None = None
    root_quat: np.ndarray | None = None
    anchor_quat: np.ndarray | None = None
    observed: np.ndarray | None = None

    def __post_init__(self) -> None:
        given = {f.name: value for f in fields(self) if (value := getattr(self, f.name)) is not None}
        if not given:
            raise InputError(f"a track needs at least one of {', '.join(_SHAPES)}")
        for name, value in given.items():
            object.__setattr__(self, name, _frames(name, value))
        lengths = {name: len(getattr(self, name)) for name in given}
        if len(set(lengths.values())) > 1:
            listed = ", ".join(f"{name} {length}" for name, length in lengths.items())
            raise InputError(f"the arrays of a track have different numbers of frames: {listed}")

    def __len__(self) -> int:
        return next(len(value) for name in _SHAPES if (value := getattr(self, name)) is not None)


def _frames(name: str, value: Any) -> np.ndarray:
    array = np.asarray(value)
    if array.dtype.kind not in "biuf":
        raise InputError(f"{name} of a track holds {array.dtype}; expected real numbers")
    frame = _SHAPES[name]
    fits = array.ndim == len(frame) + 1 and all(
        n is None or n == found for n, found in zip(frame, array.shape[1:], strict=True)
    )
    if not fits or not array.size:
        expected = ", ".join(["T", *("n" if n is None else str(n) for n in frame)])
        raise InputError(f"{name} of a track has shape {array.shape}; expected ({expected}) with one frame at least")
    return np.ascontiguousarray(array, np.float64)


@dataclass(frozen=True)
class TrackOptions:
    """How tracks are compared.

    `legacy="bfm_zero"` reproduces the numbers of an older evaluator (docs/tracking-metrics.md); `dt_s` is the time
    between frames, which only `first_fall_s` needs; `bound` and `margin` belong to the proximities, in the unit of
    their distance; `success_m` is the largest body error of the success criteria. A frame is upright where the torso
    leans at most `lean_rad` more than the reference's and the root is at least `height_share` as high.
    """

    legacy: Legacy | None = None
    dt_s: float | None = None
    bound: float = 2.0
    margin: float = 2.0
    success_m: float = 0.5
    lean_rad: float = math.pi / 4
    height_share: float = 0.5

    def __post_init__(self) -> None:
        if self.legacy not in (None, "bfm_zero"):
            raise InputError(f'legacy is {self.legacy!r}; expected "bfm_zero", or None for the metrics as documented')
        if self.dt_s is not None and not (math.isfinite(self.dt_s) and self.dt_s > 0):
            raise InputError(f"dt_s is {self.dt_s}; expected seconds between frames, more than 0, or None")
        for name in ("bound", "margin", "success_m", "lean_rad", "height_share"):
            value = getattr(self, name)
            if not math.isfinite(value) or value < 0 or (name == "margin" and value == 0):
                least = "more than 0" if name == "margin" else "0 or more"
                raise InputError(f"{name} is {value}; expected a finite number, {least}")
