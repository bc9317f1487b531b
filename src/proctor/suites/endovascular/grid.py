"""The distance to the vessel wall on a regular grid, built once per anatomy and shared.

Negative inside, positive in the wall. A branch is a chain of cones; where branches meet, their union is rounded over
`BLEND_MM`, as an ostium is. Grids are kept in the user's cache folder (`PROCTOR_CACHE`, else `XDG_CACHE_HOME`, else
`~/.cache`) and mapped into memory, so that all workers of a machine share one copy. A grid from the cache equals a
built one to the byte; without a writable folder each process builds its own.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

import numpy as np

from proctor import caches
from proctor.kernels import kept
from proctor.suites.endovascular.anatomy import VesselTree
from proctor.suites.endovascular.rod import Field

SPACING_MM = 1.0
MARGIN_MM = 6.0
FAR_MM = 8.0
"""Further from a branch's surface than this, its distance is not computed but set to this."""
BLEND_MM = 2.0
KEPT = 24
"""Grids in the cache; the longest unused go first."""
VERSION = 2


@kept(nogil=True, error_model="numpy")
def carve(values, origin, spacing, points, radii):
    """Lower `values` to the distance to one branch, where it is below `FAR_MM`."""
    for s in range(len(points) - 1):
        a, b = points[s], points[s + 1]
        ux, uy, uz = b[0] - a[0], b[1] - a[1], b[2] - a[2]
        square = ux * ux + uy * uy + uz * uz
        reach = max(radii[s], radii[s + 1]) + FAR_MM
        lo, hi = np.empty(3, np.int64), np.empty(3, np.int64)
        for c in range(3):
            lo[c] = max(int(np.floor((min(a[c], b[c]) - reach - origin[c]) / spacing)), 0)
            hi[c] = min(int(np.ceil((max(a[c], b[c]) + reach - origin[c]) / spacing)) + 1, values.shape[c])
        for i in range(lo[0], hi[0]):
            px = origin[0] + i * spacing - a[0]
            for j in range(lo[1], hi[1]):
                py = origin[1] + j * spacing - a[1]
                for k in range(lo[2], hi[2]):
                    pz = origin[2] + k * spacing - a[2]
                    t = min(max((px * ux + py * uy + pz * uz) / square, 0.0), 1.0)
                    dx, dy, dz = px - t * ux, py - t * uy, pz - t * uz
                    d = np.sqrt(dx * dx + dy * dy + dz * dz) - (radii[s] + t * (radii[s + 1] - radii[s]))
                    if d < values[i, j, k]:
                        values[i, j, k] = d


def build(tree: VesselTree, spacing: float = SPACING_MM) -> Field:
    """The grid of a tree."""
    origin, shape = _box(tree, spacing)
    total: np.ndarray | None = None
    for branch in tree.branches:
        values = np.full(shape, FAR_MM, np.float32)
        carve(values, origin, spacing, np.ascontiguousarray(branch.points), branch.radii)
        total = values if total is None else _union(total, values)
    assert total is not None
    total = _prefiltered(total)
    total.flags.writeable = False
    return Field(total, origin, float(spacing))


def _prefiltered(values: np.ndarray) -> np.ndarray:
    """Coefficients of a quadratic spline that follows the values: it smooths them by an eighth of their second
    difference, which is taken off beforehand."""
    for axis in range(3):
        inner = [slice(None)] * 3
        inner[axis] = slice(1, -1)
        sharper = values.copy()
        sharper[tuple(inner)] -= np.diff(values, 2, axis=axis) / np.float32(8)
        values = sharper
    return values


def _box(tree: VesselTree, spacing: float) -> tuple[np.ndarray, tuple[int, ...]]:
    """Origin and shape of a grid that holds the tree and its wall."""
    reach = max(float(branch.radii.max()) for branch in tree.branches) + MARGIN_MM
    points = tree.points()
    origin = np.floor((points.min(axis=0) - reach) / spacing) * spacing
    shape = np.ceil((points.max(axis=0) + reach - origin) / spacing).astype(int) + 1
    return origin, tuple(shape.tolist())


def _union(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The rounded union of two distances."""
    overlap = np.maximum(np.float32(BLEND_MM) - np.abs(a - b), np.float32(0))
    return np.minimum(a, b) - overlap * overlap / np.float32(4 * BLEND_MM)


def shared(tree: VesselTree, folder: Path | None = None) -> Field:
    """The grid of a tree, from the cache where it is there, else built and put there."""
    file = (folder or cache_folder()) / f"{_key(tree)}.npy"
    origin, shape = _box(tree, SPACING_MM)
    values = _load(file, shape)
    if values is None:
        field = build(tree)
        _store(file, field.values)
        values = _load(file, shape)
        if values is None:
            return field
    return Field(values, origin, SPACING_MM)


def cache_folder() -> Path:
    return caches.folder("vessel-grids")


def _key(tree: VesselTree) -> str:
    content = hashlib.sha256(f"{VERSION}|{SPACING_MM}|{MARGIN_MM}|{FAR_MM}|{BLEND_MM}".encode())
    for branch in tree.branches:
        content.update(branch.points.tobytes() + branch.radii.tobytes())
    return content.hexdigest()[:24]


def _load(file: Path, shape: tuple[int, ...]) -> np.ndarray | None:
    """The mapped file; None where it is not there or is not such a grid."""
    try:
        values = np.load(file, mmap_mode="r")
        os.utime(file)
    except (OSError, ValueError, EOFError):
        return None
    return np.asarray(values) if values.shape == shape and values.dtype == np.float32 else None


def _store(file: Path, values: np.ndarray) -> None:
    """Write under another name and rename, so that nobody sees half a grid. A folder that cannot be written is no
    error."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=file.parent, suffix=".part", delete=False) as part:
            np.save(part, values)
        os.replace(part.name, file)
        grids = sorted(file.parent.glob("*.npy"), key=lambda path: path.stat().st_mtime)
        for old in grids[:-KEPT]:
            old.unlink(missing_ok=True)
    except OSError:
        return
