"""Pictures as a fluoroscope gives them: contrast medium in the vessels, the wire dark, the target a ring."""

from __future__ import annotations

import itertools

import numpy as np

from proctor.suites.endovascular.carm import CArm
from proctor.suites.endovascular.rod import Field

SIZE = 480
"""Pixels of a picture's longer side; sides are multiples of 16, for video."""
BORDER_MM = 6.0
CELL_PX = 3
"""The shadow is computed in squares of this size, then smoothed."""
PAPER, VESSEL, WIRE = 215.0, 80.0, 200.0
WIRE_PX, CATHETER_PX, RING_PX = 1.1, 2.2, 1.2
RING = np.array([215.0, 60.0, 40.0])


class Fluoroscope:
    """Draws frames, uint8 (height, width, 3); the vessel's shadow is computed once."""

    def __init__(self, field: Field, carm: CArm):
        self._carm = carm
        inside = np.argwhere(np.asarray(field.values) < 0.0) * field.spacing + field.origin
        flat = carm.project(inside)
        self._left, low = flat.min(axis=0) - BORDER_MM
        right, self._top = flat.max(axis=0) + BORDER_MM
        self._scale = SIZE / max(right - self._left, self._top - low)
        self._width, self._height = (
            int(np.ceil(mm * self._scale / 16 - 1e-6)) * 16 for mm in (right - self._left, self._top - low)
        )
        self._background = PAPER - VESSEL * self._shadow(inside)

    def _shadow(self, inside: np.ndarray) -> np.ndarray:
        """How much contrast medium lies over each pixel, 0 to 1."""
        pixel = self._pixels(inside)
        shape = (-(-self._height // CELL_PX), -(-self._width // CELL_PX))
        bounds = [[0, shape[0] * CELL_PX], [0, shape[1] * CELL_PX]]
        depth, _, _ = np.histogram2d(pixel[:, 1], pixel[:, 0], bins=shape, range=bounds)
        fine = _blurred(depth, 1).repeat(CELL_PX, axis=0).repeat(CELL_PX, axis=1)
        fine = _blurred(fine[: self._height, : self._width], 2)
        return np.tanh(fine / (0.35 * fine.max()))

    def _pixels(self, points: np.ndarray) -> np.ndarray:
        """Picture coordinates (n, 2), to the right and down, of vessel coordinates (n, 3)."""
        flat = self._carm.project(points)
        return np.stack([flat[:, 0] - self._left, self._top - flat[:, 1]], axis=1) * self._scale

    def frame(self, wire: np.ndarray, target: np.ndarray, threshold_mm: float, bare: int) -> np.ndarray:
        """The wire's points (n, 3), of which the first `bare` have no catheter around them, and the target (3,) in the
        vessel."""
        picture = np.repeat(self._background[:, :, None], 3, axis=2)
        self._ring(picture, self._pixels(target[None])[0], threshold_mm * self._scale)
        path = self._pixels(wire)
        for j, (a, b) in enumerate(itertools.pairwise(path)):
            self._stroke(picture, a, b, WIRE_PX if j < bare else CATHETER_PX)
        return np.clip(np.rint(picture), 0, 255).astype(np.uint8)

    def _window(self, low: np.ndarray, high: np.ndarray) -> tuple[slice, slice, np.ndarray, np.ndarray]:
        """Rows and columns between two corners, and the pixel centres there."""
        x0, y0 = np.maximum(np.floor(low).astype(int) - 2, 0)
        x1, y1 = np.minimum(np.ceil(high).astype(int) + 3, [self._width, self._height])
        xs, ys = np.arange(x0, max(x1, x0)) + 0.5, np.arange(y0, max(y1, y0)) + 0.5
        return slice(y0, max(y1, y0)), slice(x0, max(x1, x0)), xs[None, :], ys[:, None]

    def _stroke(self, picture: np.ndarray, a: np.ndarray, b: np.ndarray, half_px: float) -> None:
        rows, columns, xs, ys = self._window(np.minimum(a, b), np.maximum(a, b))
        along = b - a
        share = ((xs - a[0]) * along[0] + (ys - a[1]) * along[1]) / max(float(along @ along), 1e-9)
        share = np.clip(share, 0, 1)
        away = np.hypot(xs - a[0] - share * along[0], ys - a[1] - share * along[1])
        cover = np.clip(half_px + 0.5 - away, 0, 1)[:, :, None]
        part = picture[rows, columns]
        picture[rows, columns] = np.minimum(part, (1 - cover) * part + cover * (PAPER - WIRE))

    def _ring(self, picture: np.ndarray, centre: np.ndarray, radius: float) -> None:
        rows, columns, xs, ys = self._window(centre - radius, centre + radius)
        away = np.abs(np.hypot(xs - centre[0], ys - centre[1]) - radius)
        cover = np.clip(RING_PX + 0.5 - away, 0, 1)[:, :, None]
        picture[rows, columns] = (1 - cover) * picture[rows, columns] + cover * RING


def _blurred(picture: np.ndarray, radius: int) -> np.ndarray:
    """Box means over 2 radius + 1 pixels, down and across, twice."""
    for axis in (0, 1, 0, 1):
        width = [(radius, radius) if a == axis else (0, 0) for a in range(2)]
        padded = np.pad(picture, width, mode="edge")
        windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * radius + 1, axis=axis)
        picture = windows.mean(axis=-1)
    return picture
