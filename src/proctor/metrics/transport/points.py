"""What may be transported, and errors that say what to do about the rest."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from proctor.errors import InputError


def checked(a: ArrayLike, b: ArrayLike, where: str = "") -> tuple[np.ndarray, np.ndarray]:
    """Both as float64 of shapes (n, d) and (m, d), all finite, n, m and d at least 1."""
    first, second = _points(a, f"{where}the first"), _points(b, f"{where}the second")
    if first.shape[1] != second.shape[1]:
        raise InputError(
            f"{where}frames of different size: the first has {first.shape[1]} columns, the second {second.shape[1]}; "
            f"pass the same joints or bodies in the same order on both sides"
        )
    return first, second


def _points(points: ArrayLike, which: str) -> np.ndarray:
    array = np.asarray(points)
    if array.dtype.kind not in "biuf":
        raise InputError(f"{which} array holds {array.dtype}, expected real numbers; convert it to float64")
    if array.ndim != 2:
        raise InputError(
            f"{which} array has shape {array.shape}, expected (frames, columns); "
            f"reshape it, with everything that belongs to one frame in one row"
        )
    if not array.size:
        raise InputError(
            f"{which} array has shape {array.shape}, expected at least one frame and one column; "
            f"leave out episodes without steps"
        )
    array = np.ascontiguousarray(array, dtype=np.float64)
    finite = np.isfinite(array)
    if not finite.all():
        frame, column = np.argwhere(~finite)[0]
        raise InputError(
            f"{which} array has {array[frame, column]} at frame {frame}, column {column} "
            f"({(~finite).sum()} such values in all); cut the frames from there on, or count the motion as failed"
        )
    return array


def normalised(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """Both divided by the power of two that brings the largest magnitude to between 1/2 and 1, and its exponent."""
    exponent = math.frexp(max(a.max(), -a.min(), b.max(), -b.min()))[1]
    if abs(exponent) > 1000:
        return np.ldexp(a, -exponent), np.ldexp(b, -exponent), exponent
    factor = math.ldexp(1.0, -exponent)
    return a * factor, b * factor, exponent
