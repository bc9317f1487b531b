"""A tree of vessels from files: centrelines with radii, as 3D Slicer and the Vascular Model Repository write them.

A folder holds one file for each centreline: markup curves of Slicer (`*.json`, control points and their measured
`Radius`, mm) or paths of the repository (`*.pth`, cm, no radii). Lines that meet become a tree, from the entry on: a
line joins where one of its ends lies in a vessel that is already placed, runs away from there, and loses what lies
inside that vessel. A ring is opened where its second line comes back; a line that touches nothing is left out.
"""

from __future__ import annotations

import functools
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from proctor.errors import InputError
from proctor.suites.endovascular.anatomy import STEP_MM, Branch, VesselTree, arc

CM_IN_MM = 10.0
NEAR_MM = 1.0
"""An end that is this near to a placed vessel's lumen has met it."""
LEAST_MM, LEAST_POINTS = 3.0, 5
"""Shorter lines are left out; a branch has so many points at least."""
_PLACE = re.compile(r'<pos[^>]*\sx="([^"]+)"\s+y="([^"]+)"\s+z="([^"]+)"')


@dataclass(frozen=True, eq=False)
class Line:
    """A centreline: points (n, 3) and radii (n,), mm."""

    name: str
    points: np.ndarray
    radii: np.ndarray


@dataclass(frozen=True)
class Source:
    """Where a tree comes from. `axes` names the file's axis, with its sign, that becomes x, y and z; then the tree is
    turned about y, z and x by `rotate_yzx_deg`. `radius_mm` is that of lines which have none. The entry is a line's
    name and the number of a point of it, or the point of all lines that is nearest to a place in turned coordinates."""

    folder: str
    entry: tuple[float, float, float] | tuple[str, int]
    axes: tuple[str, str, str] = ("x", "y", "z")
    rotate_yzx_deg: tuple[float, float, float] = (0.0, 0.0, 0.0)
    radius_mm: float = 5.0


@functools.lru_cache(maxsize=4)
def read_tree(source: Source) -> VesselTree:
    """The tree of a folder. Raises InputError where there is none to be made."""
    folder = Path(source.folder).expanduser()
    if not folder.is_dir():
        raise InputError(f"there is no folder {folder} of centrelines; give one with *.json (Slicer) or *.pth files")
    lines = [line for file in sorted(folder.iterdir()) for line in _lines(file, source.radius_mm)]
    lines = [_turned(line, source) for line in lines if len(line.points) > 1 and arc(line.points)[-1] >= LEAST_MM]
    if not lines:
        raise InputError(f"{folder} has no centrelines: expected Slicer's markup curves (*.json) or paths (*.pth)")
    return tree_of(lines, _entry(lines, source))


def _entry(lines: list[Line], source: Source) -> np.ndarray:
    if len(source.entry) == 3:
        return np.asarray(source.entry, float)
    name, index = source.entry
    found = [line for line in lines if line.name == name]
    if not found or not -len(found[0].points) <= int(index) < len(found[0].points):
        known = ", ".join(f"{line.name} ({len(line.points)} points)" for line in lines)
        raise InputError(f"{source.folder} has no point {index} of a line {name}, the entry; it has {known}")
    return found[0].points[int(index)]


def _lines(file: Path, radius_mm: float) -> list[Line]:
    try:
        if file.suffix == ".json":
            return _slicer(file.name.removesuffix(".json"), json.loads(file.read_text("utf-8")), radius_mm)
        if file.suffix == ".pth":
            places = [[float(value) for value in found] for found in _PLACE.findall(file.read_text("utf-8"))]
            points = np.array(places, float).reshape(-1, 3) * CM_IN_MM
            return [Line(file.stem.lower(), points, np.full(len(points), radius_mm))]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{file} is no centreline that can be read: {type(error).__name__}: {error}") from None
    return []


def _slicer(name: str, content: dict[str, Any], radius_mm: float) -> list[Line]:
    found = []
    for markup in content.get("markups", []):
        if markup["type"] != "Curve":
            continue
        points = np.array([point["position"] for point in markup["controlPoints"]], float).reshape(-1, 3)
        radii = [m["controlPointValues"] for m in markup.get("measurements", []) if m["name"] == "Radius"]
        values = np.array(radii[0], float) if radii else np.full(len(points), radius_mm)
        if values.shape != (len(points),):
            raise ValueError(f"{len(points)} points, but {len(values)} radii")
        found.append(Line(name, points, values))
    return found


def _turned(line: Line, source: Source) -> Line:
    """The line in the tree's coordinates."""
    columns = [(-1.0 if axis.startswith("-") else 1.0) * line.points[:, "xyz".index(axis[-1])] for axis in source.axes]
    points = np.stack(columns, axis=1)
    for axis, degrees in zip((1, 2, 0), source.rotate_yzx_deg, strict=True):
        points = points @ _about(axis, degrees).T
    return Line(line.name, points, line.radii)


def _about(axis: int, degrees: float) -> np.ndarray:
    a, (i, j) = np.deg2rad(degrees), ((1, 2), (2, 0), (0, 1))[axis]
    turn = np.eye(3)
    turn[i, i] = turn[j, j] = np.cos(a)
    turn[i, j], turn[j, i] = -np.sin(a), np.sin(a)
    return turn


def tree_of(lines: list[Line], entry: np.ndarray) -> VesselTree:
    """The tree of lines that hang together with the one nearest to the entry."""
    nearest = min(lines, key=lambda line: _away(line.points, entry).min())
    at = int(_away(nearest.points, entry).argmin())
    rest = [line for line in lines if line is not nearest]
    onward, back = _cut(nearest, at)
    if back is not None:
        rest.append(back)
    placed = [_branch(onward, None, 0)]
    while True:
        found = next(((line, branch) for line in rest if (branch := _join(line, placed)) is not None), None)
        if found is None:
            break
        rest.remove(found[0])
        placed.append(found[1])
    return VesselTree(tuple(_unique(placed)))


def _cut(line: Line, at: int) -> tuple[Line, Line | None]:
    """The longer part of a line from a point on, and the other part where it is long enough to matter."""
    parts = [
        Line(line.name, line.points[at:], line.radii[at:]),
        Line(f"{line.name} (back)", line.points[: at + 1][::-1], line.radii[: at + 1][::-1]),
    ]
    lengths = [arc(part.points)[-1] if len(part.points) > 1 else 0.0 for part in parts]
    first = int(np.argmax(lengths))
    other = parts[1 - first] if lengths[1 - first] >= 3 * LEAST_MM else None
    return Line(line.name, parts[first].points, parts[first].radii), other


def _join(line: Line, placed: list[Branch]) -> Branch | None:
    """The branch that a line becomes where one of its ends lies in a placed vessel, the deeper one of both; None where
    neither does, or where hardly anything of the line is outside that vessel."""
    best: tuple[float, int, Branch] | None = None
    for end in (0, -1):
        for parent in placed:
            depth = float(np.min(_away(parent.points, line.points[end]) - parent.radii))
            if depth < NEAR_MM and (best is None or depth < best[0]):
                best = depth, end, parent
    if best is None:
        return None
    _, end, parent = best
    points, radii = (line.points, line.radii) if end == 0 else (line.points[::-1], line.radii[::-1])
    outside = np.array([np.min(_away(parent.points, point) - parent.radii) for point in points]) > 0.0
    if not outside.any():
        return None
    leaves = int(outside.argmax())
    at = int(_away(parent.points, points[max(leaves - 1, 0)]).argmin())
    path, width = np.vstack([parent.points[at], points[leaves:]]), np.r_[radii[leaves], radii[leaves:]]
    return _branch(Line(line.name, path, width), parent.name, at) if arc(path)[-1] >= LEAST_MM else None


def _branch(line: Line, parent: str | None, joins: int) -> Branch:
    points, radii = _even(line.points, line.radii)
    return Branch(line.name, points, radii, parent, joins)


def _even(points: np.ndarray, radii: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Points about a step apart, with their radii."""
    along = arc(points)
    wanted = np.linspace(0.0, along[-1], max(round(along[-1] / STEP_MM) + 1, LEAST_POINTS))
    places = np.stack([np.interp(wanted, along, points[:, axis]) for axis in range(3)], axis=1)
    return places, np.interp(wanted, along, radii)


def _away(points: np.ndarray, place: np.ndarray) -> np.ndarray:
    return np.linalg.norm(points - place, axis=1)


def _unique(branches: list[Branch]) -> list[Branch]:
    """The same branches; two of one name would be taken for one another."""
    names = [branch.name for branch in branches]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"two centrelines have the name {twice[0]}; give each file a name of its own")
    return branches
