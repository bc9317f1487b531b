"""Changes of frame for arrays of vectors and unit quaternions (wxyz), without a loop and without matrix products, so
that a row's bytes do not depend on how many rows there are.

Leading axes are kept, and broadcast where there are two arguments.
"""

from __future__ import annotations

import numpy as np

_DEGENERATE = 1e-9


def gravity_in(quat: np.ndarray) -> np.ndarray:
    """The direction of gravity (0, 0, -1) in the frame of `quat`, (..., 3)."""
    w, x, y, z = _parts(quat)
    return np.stack([2 * (w * y - x * z), -2 * (y * z + w * x), 2 * (x * x + y * y) - 1], axis=-1)


def x_axis(quat: np.ndarray) -> np.ndarray:
    """The first column of the rotation matrix, (..., 3)."""
    w, x, y, z = _parts(quat)
    return np.stack([1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)], axis=-1)


def y_axis(quat: np.ndarray) -> np.ndarray:
    """The second column."""
    w, x, y, z = _parts(quat)
    return np.stack([2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x)], axis=-1)


def z_axis(quat: np.ndarray) -> np.ndarray:
    """The third column."""
    w, x, y, z = _parts(quat)
    return np.stack([2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)], axis=-1)


def heading(quat: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Cosine and sine of the heading, the direction of the x axis seen from above. 0 where it points straight up or
    down."""
    w, x, y, z = _parts(quat)
    ahead, aside = 1 - 2 * (y * y + z * z), 2 * (x * y + w * z)
    length = np.sqrt(ahead * ahead + aside * aside)
    vertical = length < _DEGENERATE
    length = np.where(vertical, 1.0, length)
    return np.where(vertical, 1.0, ahead / length), np.where(vertical, 0.0, aside / length)


def unturn(vectors: np.ndarray, turn: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Vectors (..., M, 3) in the frame that is turned about the vertical by `turn`: cosine and sine, (...)."""
    cos, sin = turn[0][..., None], turn[1][..., None]
    out = np.empty_like(vectors)
    x, y = vectors[..., 0], vectors[..., 1]
    out[..., 0] = cos * x + sin * y
    out[..., 1] = cos * y - sin * x
    out[..., 2] = vectors[..., 2]
    return out


def into(quat: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Vectors (..., 3) of the outer frame, in the frame of `quat`: rotated by its inverse."""
    w, x, y, z = _parts(quat)
    vx, vy, vz = vectors[..., 0], vectors[..., 1], vectors[..., 2]
    tx, ty, tz = 2 * (vy * z - vz * y), 2 * (vz * x - vx * z), 2 * (vx * y - vy * x)
    return np.stack(
        [vx + w * tx + (ty * z - tz * y), vy + w * ty + (tz * x - tx * z), vz + w * tz + (tx * y - ty * x)], axis=-1
    )


def relative(quat: np.ndarray, other: np.ndarray) -> np.ndarray:
    """The rotation `other` in the frame of `quat`: inverse(quat) * other."""
    w, x, y, z = _parts(quat)
    ow, ox, oy, oz = _parts(other)
    return np.stack(
        [
            w * ow + x * ox + y * oy + z * oz,
            w * ox - x * ow - y * oz + z * oy,
            w * oy + x * oz - y * ow - z * ox,
            w * oz - x * oy + y * ox - z * ow,
        ],
        axis=-1,
    )


def _parts(quat: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    return quat[..., 0], quat[..., 1], quat[..., 2], quat[..., 3]
