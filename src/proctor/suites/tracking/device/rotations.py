"""Rotations as unit quaternions, wxyz, in tensors (..., 4), and vectors (..., 3): what `tracking.rotations` has for
arrays of numpy, as far as worlds on a device need it."""

from __future__ import annotations

import functools

import torch

_DEGENERATE = 1e-9


def conjugate(quat: torch.Tensor) -> torch.Tensor:
    """The opposite rotation."""
    return torch.cat([quat[..., :1], -quat[..., 1:]], dim=-1)


def rotate(quat: torch.Tensor, vector: torch.Tensor) -> torch.Tensor:
    """The vector (..., 3), rotated."""
    axis, vector = torch.broadcast_tensors(quat[..., 1:], vector)
    twice = 2.0 * torch.linalg.cross(axis, vector)
    return vector + quat[..., :1] * twice + torch.linalg.cross(axis, twice)


def into(quat: torch.Tensor, vector: torch.Tensor) -> torch.Tensor:
    """Vectors of the outer frame, in the frame of `quat`."""
    return rotate(conjugate(quat), vector)


_W, _X, _Y, _Z = range(4)
_TERMS = {
    "gravity": ((0, 2, (_W, _Y), -2, (_X, _Z)), (0, -2, (_Y, _Z), -2, (_W, _X)), (-1, 2, (_X, _X), 2, (_Y, _Y))),
    "x": ((1, -2, (_Y, _Y), -2, (_Z, _Z)), (0, 2, (_X, _Y), 2, (_W, _Z)), (0, 2, (_X, _Z), -2, (_W, _Y))),
    "y": ((0, 2, (_X, _Y), -2, (_W, _Z)), (1, -2, (_X, _X), -2, (_Z, _Z)), (0, 2, (_Y, _Z), 2, (_W, _X))),
    "z": ((0, 2, (_X, _Z), 2, (_W, _Y)), (0, 2, (_Y, _Z), -2, (_W, _X)), (1, -2, (_X, _X), -2, (_Y, _Y))),
}
"""Each number: a constant, and two products of parts of the quaternion with their factors. `x`, `y` and `z` are the
columns of the rotation matrix, `gravity` the direction of gravity (0, 0, -1) in the frame."""


@functools.cache
def _tables(names: str, device: torch.device, dtype: torch.dtype) -> tuple[torch.Tensor, ...]:
    """Which parts make the left and the right sides of both products (4 m,), constants (m,) and factors (2, m)."""
    terms = [term for name in names.split() for term in _TERMS[name]]
    constants, first, one, second, other = zip(*terms, strict=True)
    sides = [side for pair in (one, other) for side in zip(*pair, strict=True)]
    parts = torch.tensor([sides[i] for i in (0, 2, 1, 3)], device=device).flatten()
    factors = [torch.tensor(values, dtype=dtype, device=device) for values in (constants, [first, second])]
    return (parts, *factors)


def directions(quat: torch.Tensor, names: str) -> torch.Tensor:
    """Some of `gravity`, `x`, `y` and `z`, one after the other: (..., 3 times as many). A few operations, however many
    there are."""
    parts, constants, factors = _tables(names, quat.device, quat.dtype)
    left, right = quat.index_select(-1, parts).unflatten(-1, (2, 2, -1)).unbind(-3)
    one, other = (factors * (left * right)).unbind(-2)
    return constants + one + other


def heading(quat: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Cosine and sine of the direction of the x axis, seen from above; 0 where it points straight up or down."""
    w, x, y, z = quat.unbind(-1)
    ahead, aside = 1 - 2 * (y * y + z * z), 2 * (x * y + w * z)
    length = torch.sqrt(ahead * ahead + aside * aside)
    vertical = length < _DEGENERATE
    length = torch.where(vertical, 1.0, length)
    return torch.where(vertical, 1.0, ahead / length), torch.where(vertical, 0.0, aside / length)


def lean(quat: torch.Tensor) -> torch.Tensor:
    """Angle in rad between the z axis and the vertical, from 0 to pi."""
    w, x, y, z = quat.unbind(-1)
    return 2 * torch.atan2(torch.sqrt(x * x + y * y), torch.sqrt(w * w + z * z))
