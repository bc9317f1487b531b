"""Rotations as unit quaternions, wxyz, in tensors (..., 4), and vectors (..., 3): what `tracking.rotations` has for
arrays of numpy, as far as worlds on a device need it."""

from __future__ import annotations

import torch

_DEGENERATE = 1e-9


def conjugate(quat: torch.Tensor) -> torch.Tensor:
    """The opposite rotation."""
    return torch.cat([quat[..., :1], -quat[..., 1:]], dim=-1)


def multiply(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """b first, then a."""
    aw, av, bw, bv = a[..., :1], a[..., 1:], b[..., :1], b[..., 1:]
    w = aw * bw - (av * bv).sum(dim=-1, keepdim=True)
    return torch.cat([w, aw * bv + bw * av + torch.linalg.cross(*torch.broadcast_tensors(av, bv))], dim=-1)


def rotate(quat: torch.Tensor, vector: torch.Tensor) -> torch.Tensor:
    """The vector (..., 3), rotated."""
    axis, vector = torch.broadcast_tensors(quat[..., 1:], vector)
    twice = 2.0 * torch.linalg.cross(axis, vector)
    return vector + quat[..., :1] * twice + torch.linalg.cross(axis, twice)


def into(quat: torch.Tensor, vector: torch.Tensor) -> torch.Tensor:
    """Vectors of the outer frame, in the frame of `quat`."""
    return rotate(conjugate(quat), vector)


def gravity_in(quat: torch.Tensor) -> torch.Tensor:
    """The direction of gravity (0, 0, -1) in the frame of `quat`."""
    w, x, y, z = quat.unbind(-1)
    return torch.stack([2 * (w * y - x * z), -2 * (y * z + w * x), 2 * (x * x + y * y) - 1], dim=-1)


def x_axis(quat: torch.Tensor) -> torch.Tensor:
    """The first column of the rotation matrix."""
    w, x, y, z = quat.unbind(-1)
    return torch.stack([1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)], dim=-1)


def y_axis(quat: torch.Tensor) -> torch.Tensor:
    """The second column."""
    w, x, y, z = quat.unbind(-1)
    return torch.stack([2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x)], dim=-1)


def z_axis(quat: torch.Tensor) -> torch.Tensor:
    """The third column."""
    w, x, y, z = quat.unbind(-1)
    return torch.stack([2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)], dim=-1)


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
