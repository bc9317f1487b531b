"""The C-arm: how the body is turned in front of the detector, and what of it is seen.

Tracking coordinates are vessel coordinates turned about x by minus the second angle, then about z by minus the first,
as stEVE has it; the picture shows their first and third.
"""

from __future__ import annotations

import numpy as np


class CArm:
    """A parallel projection, `rot_zx_deg` as stEVE gives it."""

    def __init__(self, rot_zx_deg: tuple[float, float]):
        a, b = -np.deg2rad(rot_zx_deg[0]), -np.deg2rad(rot_zx_deg[1])
        about_z = np.array([[np.cos(a), -np.sin(a), 0], [np.sin(a), np.cos(a), 0], [0, 0, 1]])
        about_x = np.array([[1, 0, 0], [0, np.cos(b), -np.sin(b)], [0, np.sin(b), np.cos(b)]])
        self.rotation = about_z @ about_x

    def track(self, points: np.ndarray) -> np.ndarray:
        """Vessel coordinates (..., 3) as tracking coordinates (..., 3); directions likewise."""
        x, y, z = points[..., 0], points[..., 1], points[..., 2]
        r = self.rotation
        return np.stack([r[i, 0] * x + r[i, 1] * y + r[i, 2] * z for i in range(3)], axis=-1)

    def project(self, points: np.ndarray) -> np.ndarray:
        """Vessel coordinates (..., 3) as the picture's (..., 2), mm: to the right and up."""
        return self.track(points)[..., ::2]
