"""Aortic arches: a tree of vessels, each a centreline with radii, drawn from a type and a seed.

Frame (mm): x to the patient's left, y to the back, z to the head. The aorta is followed against the blood stream, as a
wire from the groin meets it: up the descending part from the entry at its lower end, over the arch, down to the valve.
The type is the clinical one (Casserly): how far the origin of the brachiocephalic trunk lies below the top of the arch,
measured in diameters of the left common carotid: less than one in type I, one to two in II, more than two in III. The
further down, the sharper a wire has to turn. Proportions are textbook values with seeded variation, not measured ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

ArchType = Literal["I", "II", "III"]
STEP_MM = 1.0
"""Distance between centreline points."""

TRUNK_DEG = {"I": 27.0, "II": 46.0, "III": 66.0}
"""Where the brachiocephalic trunk leaves the arch: angle from its top towards the valve."""


@dataclass(frozen=True, eq=False)
class Branch:
    """One vessel. `points` (n, 3) about `STEP_MM` apart, `radii` (n,). A child's first point is the parent's point
    number `joins`."""

    name: str
    points: np.ndarray
    radii: np.ndarray
    parent: str | None = None
    joins: int = 0

    @property
    def end(self) -> np.ndarray:
        return self.points[-1]


@dataclass(frozen=True, eq=False)
class VesselTree:
    """A tree of vessels; the first branch holds the entry at its first point."""

    branches: tuple[Branch, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(branch.name for branch in self.branches)

    def branch(self, name: str) -> Branch:
        return next(branch for branch in self.branches if branch.name == name)

    @property
    def entry(self) -> np.ndarray:
        return self.branches[0].points[0]

    @property
    def direction(self) -> np.ndarray:
        """Unit vector into the tree at the entry."""
        along = self.branches[0].points[3] - self.entry
        return along / np.linalg.norm(along)

    @property
    def leaves(self) -> tuple[str, ...]:
        """Branches without children, the aorta left out: where a target can be."""
        parents = {branch.parent for branch in self.branches}
        return tuple(branch.name for branch in self.branches[1:] if branch.name not in parents)

    def points(self) -> np.ndarray:
        """All centreline points (n, 3), branch by branch."""
        return np.concatenate([branch.points for branch in self.branches])


def aortic_arch(arch_type: ArchType, seed: int) -> VesselTree:
    """The arch of this type and seed: aorta, bct with its children rcca and rsa, lcca, lsa."""
    draw = _Variation(np.random.default_rng([seed, list(TRUNK_DEG).index(arch_type)]))
    shape = _Shape(
        radius=draw(33.0, 2.0),
        height=draw(105.0, 6.0),
        ascent=draw(45.0, 4.0),
        turn_deg=draw(28.0, 5.0),
        lean=draw(0, 3.0),
    )
    aorta = _aorta(shape, draw)
    trunk_deg = draw(TRUNK_DEG[arch_type], 2.0)
    carotid_deg = trunk_deg - draw(24.0, 2.0)
    subclavian_deg = carotid_deg - draw(30.0, 2.5)
    trunk = _sprout("bct", aorta, shape.origin(trunk_deg, aorta), _way(draw, [(-2, -1, 16), (-9, -3, 38)]), (6.2, 5.8))
    end = len(trunk.points) - 1
    up = [(-1, 0, 14), (-3, 3, 45), (-2, 6, 80), (-4, 5, draw(112, 5))]
    right_carotid = _sprout("rcca", trunk, end, _way(draw, up), (3.9, 3.3))
    aside = [(-13, 2, 11), (-36, 6, 17), (-62, 4, 6), (-draw(86, 5), 2, -10)]
    right_subclavian = _sprout("rsa", trunk, end, _way(draw, aside), (4.6, 3.9))
    up = [(0, -1, 18), (5, 0, 45), (9, 4, 85), (8, 6, 120), (9, 5, draw(150, 6))]
    left_carotid = _sprout("lcca", aorta, shape.origin(carotid_deg, aorta), _way(draw, up), (4.0, 3.3))
    aside = [(1, 1, 19), (6, 4, 44), (26, 8, 62), (55, 8, 58), (draw(82, 5), 4, 40)]
    left_subclavian = _sprout("lsa", aorta, shape.origin(subclavian_deg, aorta), _way(draw, aside), (5.0, 4.0))
    return VesselTree((aorta, trunk, right_carotid, right_subclavian, left_carotid, left_subclavian))


class _Variation:
    """Normal draws, cut at two standard deviations so that no anatomy is freakish."""

    def __init__(self, rng: np.random.Generator):
        self._rng = rng

    def __call__(self, mean: float, deviation: float) -> float:
        return float(mean + deviation * np.clip(self._rng.standard_normal(), -2, 2))


@dataclass(frozen=True)
class _Shape:
    """An arch: radius of its curve, height of the curve's centre over the entry, length of the ascending part, angle of
    its plane to the frontal one, and how far the top leans to the back (mm)."""

    radius: float
    height: float
    ascent: float
    turn_deg: float
    lean: float

    def at(self, degrees: np.ndarray | float) -> np.ndarray:
        """Points of the curve by their angle from the top, positive towards the valve."""
        angle, turn = np.deg2rad(np.asarray(degrees, float)), np.deg2rad(self.turn_deg)
        along = -self.radius * np.sin(angle)
        z = self.height + self.radius * np.cos(angle)
        y = along * np.sin(turn) + self.lean * np.cos(angle)
        return np.stack([along * np.cos(turn), y, z], axis=-1)

    def origin(self, degrees: float, aorta: Branch) -> int:
        """The point of the aorta nearest to the curve at this angle."""
        return int(np.argmin(np.linalg.norm(aorta.points - self.at(degrees), axis=1)))


def _aorta(shape: _Shape, draw: _Variation) -> Branch:
    start, end = shape.at(-90.0), shape.at(90.0)
    bottom = start - [draw(4, 2), draw(0, 2), shape.height]
    middle = (start + bottom) / 2 + [draw(2, 1), draw(2, 1.5), 0]
    valve = end + np.array([draw(7, 2), draw(-4, 2), -shape.ascent])
    points = _smooth(
        np.vstack([bottom, middle, shape.at(np.linspace(-90, 90, 9)), (end + valve) / 2 - [2, 0, 0], valve])
    )
    share = np.linspace(0, 1, len(points))
    scale = draw(1.0, 0.04)
    radii = scale * np.interp(share, [0, 0.4, 0.6, 0.8, 1], [10.5, 11.5, 12.5, 14.0, 14.5])
    return Branch("aorta", points, radii)


def _way(draw: _Variation, offsets: list[tuple[float, float, float]]) -> np.ndarray:
    """Control points relative to the origin, with a jitter that grows along the way."""
    points = np.array(offsets, float)
    jitter = [[draw(0, 1), draw(0, 1), draw(0, 1)] for _ in offsets]
    return points + np.array(jitter) * np.linspace(0.3, 2.0, len(points))[:, None]


def _sprout(name: str, parent: Branch, joins: int, way: np.ndarray, radii: tuple[float, float]) -> Branch:
    """A child that leaves its parent's centreline at point `joins` and follows `way`."""
    origin = parent.points[joins]
    points = _smooth(np.vstack([origin, origin + way]))
    return Branch(name, points, np.linspace(radii[0], radii[1], len(points)), parent.name, joins)


def _smooth(control: np.ndarray) -> np.ndarray:
    """A cubic Hermite curve through the control points (finite-difference tangents), resampled to even steps."""
    chord = arc(control)
    tangent = np.gradient(control, chord, axis=0)
    dense = np.linspace(0, chord[-1], max(int(chord[-1] * 20), 2))
    left = np.clip(np.searchsorted(chord, dense, side="right") - 1, 0, len(chord) - 2)
    width = (chord[left + 1] - chord[left])[:, None]
    t = (dense - chord[left])[:, None] / width
    curve = (
        (2 * t**3 - 3 * t**2 + 1) * control[left]
        + (t**3 - 2 * t**2 + t) * width * tangent[left]
        + (-2 * t**3 + 3 * t**2) * control[left + 1]
        + (t**3 - t**2) * width * tangent[left + 1]
    )
    return evenly(curve, max(round(arc(curve)[-1] / STEP_MM), 1) + 1)


def arc(points: np.ndarray) -> np.ndarray:
    """How far along the polyline through (n, 3) each of its points is, (n,)."""
    return np.r_[0.0, np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))]


def evenly(points: np.ndarray, count: int) -> np.ndarray:
    """`count` points at even distances along a polyline (n, 3), ends included."""
    along = arc(points)
    wanted = np.linspace(0.0, along[-1], count)
    return np.stack([np.interp(wanted, along, points[:, axis]) for axis in range(points.shape[1])], axis=1)
