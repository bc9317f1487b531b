"""Drawings of passages as SVG, pure functions of arrays. Pictures are in mm, x to the right and y down (the C-arm's up
with its sign turned); curves are in percent of their panel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from proctor.report.draw.palette import Colour, heat_step, hex_steps, top_of
from proctor.report.draw.svg import runs
from proctor.suites.endovascular.anatomy import arc
from proctor.suites.endovascular.report.model import Passage, Vessel

BORDER_MM, WALL_MM, RADIUS_STEP_MM, CENTRELINE_MM = 5.0, 0.7, 0.25, 2.0
PEAK_MM = 4.0
BINS = 40
"""Stretches of the inserted length in a profile of force."""

TIME = (
    ((0xC0, 0xB3, 0xE0), (0x7E, 0x63, 0xC0), (0x2E, 0x17, 0x63)),
    ((0x6C, 0x5F, 0x9C), (0xB3, 0x9D, 0xF0), (0xF3, 0xEE, 0xFF)),
)
FORCE = (
    ((0xA9, 0xB4, 0xBF), (0xE0, 0x82, 0x1E), (0xA5, 0x0F, 0x15)),
    ((0x62, 0x6F, 0x7C), (0xF2, 0xA2, 0x3D), (0xFF, 0x5B, 0x50)),
)
"""Scales for light and for dark screens: from early to late, from gentle to hard. Their colours mean what they mean
everywhere (`proctor.report.draw.palette`), and are strong enough at both ends for a line."""


def scale_rules() -> str:
    """CSS classes `t0` to `t10` for time and `w0` to `w10` for wall force, as strokes and fills."""

    def rules(kind: str, stops: tuple[Colour, Colour, Colour]) -> str:
        return "\n".join(f".{kind}{i} {{ stroke: {c}; fill: {c}; }}" for i, c in enumerate(hex_steps(stops)))

    light, dark = ("\n".join(rules(kind, scale[i]) for kind, scale in (("t", TIME), ("w", FORCE))) for i in (0, 1))
    return f"{light}\n@media screen and (prefers-color-scheme: dark) {{\n{dark}\n}}"


@dataclass(frozen=True)
class Frame:
    """The part of the plane that a picture shows, mm."""

    left: float
    top: float
    width: float
    height: float

    @property
    def box(self) -> str:
        return f"{self.left:.1f} {self.top:.1f} {self.width:.1f} {self.height:.1f}"


@dataclass(frozen=True)
class Scales:
    """What the pictures of a task share: the frame, the longest time and the force that gets the strongest colour."""

    frame: Frame
    longest: float
    hardest: float


def scales_of(passages: Sequence[Passage]) -> Scales:
    """For the passages of one task."""
    hardest = top_of(p.force for p in passages if p.force is not None)
    return Scales(frame_of(passages), max(p.duration for p in passages), hardest)


def frame_of(passages: Sequence[Passage]) -> Frame:
    """A frame that holds vessels, tips, wires and targets of all passages; at least 10 mm wide and high."""
    low, high = np.full(2, np.inf), np.full(2, -np.inf)
    for p in passages:
        reach = p.threshold_mm or 0.0
        parts = [(p.tip, 0.0), (p.wire, 0.0), (None if p.target is None else p.target[None], reach)]
        if p.vessel is not None:
            parts.append((p.vessel.points, p.vessel.radii[:, None]))
        for points, margin in parts:
            if points is not None:
                low = np.minimum(low, (points - margin).min(axis=0))
                high = np.maximum(high, (points + margin).max(axis=0))
    low, high = low - BORDER_MM, high + BORDER_MM
    return Frame(float(low[0]), float(-high[1]), float(high[0] - low[0]), float(high[1] - low[1]))


def line(points: np.ndarray) -> str:
    """The `d` of a line through points (n, 2) of the C-arm's picture."""
    return "M" + "L".join(f"{x:.1f} {-y:.1f}" for x, y in points)


def vessel_group(vessel: Vessel) -> str:
    """The vessel as a group with its key as `id`: wall, then lumen, so that branches open into each other. Stretches of
    nearly equal radius are one line of that width."""
    strokes = [stroke for points, radii in vessel.branches() for stroke in _strokes(points, radii)]
    wall = "".join(f'<path stroke-width="{2 * r + 2 * WALL_MM:g}" d="{d}"/>' for r, d in strokes)
    lumen = "".join(f'<path stroke-width="{2 * r:g}" d="{d}"/>' for r, d in strokes)
    return f'<g id="{vessel.key}"><g class="wall">{wall}</g><g class="lumen">{lumen}</g></g>'


def _strokes(points: np.ndarray, radii: np.ndarray) -> list[tuple[float, str]]:
    """(radius, d) of a branch's stretches; neighbours share a point."""
    kept = spaced(points, CENTRELINE_MM)
    points, steps = points[kept], np.maximum(1, (radii[kept] / RADIUS_STEP_MM).round()).astype(int)
    return [(step * RADIUS_STEP_MM, line(points[start : stop + 1])) for step, start, stop in runs(steps.tolist())]


def spaced(points: np.ndarray, step: float) -> np.ndarray:
    """Rows of a line's points about `step` apart along it, with the first and the last."""
    along = arc(points)
    wanted = np.linspace(0.0, along[-1], max(2, round(along[-1] / step) + 1))
    return np.unique(np.concatenate([np.searchsorted(along, wanted - 1e-9), [len(points) - 1]]))


def time_steps(passage: Passage, longest: float) -> list[int]:
    """The colour of every point of the tip's path."""
    return [heat_step(float(t) / longest) for t in passage.times]


def force_steps(passage: Passage, top: float) -> list[int]:
    """The colour of every point; -1 where no force was measured."""
    if passage.force is None:
        return [-1] * len(passage.tip)
    return [-1 if np.isnan(f) else heat_step(float(f) / top) for f in passage.force]


def stretches(points: np.ndarray, steps: Sequence[int]) -> list[tuple[int, str]]:
    """(step, d) of the path through points (n, 2): neighbours of equal step are one line, in the step of its end."""
    if len(points) < 2:
        return [(steps[0], f"{line(points)}h0")]
    return [(step, line(points[start : stop + 1])) for step, start, stop in runs(list(steps[1:]))]


def _paths(found: Sequence[tuple[int, str]], kind: str) -> str:
    return "".join(f'<path class="path {f"{kind}{s}" if s >= 0 else "unknown"}" d="{d}"/>' for s, d in found)


def picture(passage: Passage, frame: Frame, longest: float) -> str:
    """Vessel, target, the tip's path coloured by time, and the wire as it lay at the end."""
    wire = "" if passage.wire is None else f'<path class="wire" d="{line(passage.wire)}"/>'
    path = _paths(stretches(passage.tip, time_steps(passage, longest)), "t")
    x, y = passage.tip[-1]
    return _svg(frame, f'{_ground([passage])}{path}{wire}<path class="tip" d="M{x:.1f} {-y:.1f}h0"/>')


def force_picture(passages: Sequence[Passage], frame: Frame, top: float) -> str:
    """The paths of several trials, coloured by wall force, the strongest stretches on top; a ring where the largest
    force of each acted."""
    found = [stretch for p in passages for stretch in stretches(p.tip, force_steps(p, top))]
    rings = "".join(ring(p.peak.place, PEAK_MM, "peak") for p in passages if p.peak is not None and p.peak.force > 0)
    return _svg(frame, _ground(passages) + _paths(sorted(found, key=lambda s: s[0]), "w") + rings)


def _ground(passages: Sequence[Passage]) -> str:
    """The vessel, where all passages share it, and every target once."""
    vessels = {None if p.vessel is None else p.vessel.key for p in passages}
    shared = vessels.pop() if len(vessels) == 1 else None
    goals = dict.fromkeys(ring(p.target, p.threshold_mm or 3.0, "goal") for p in passages if p.target is not None)
    return ("" if shared is None else f'<use href="#{shared}"/>') + "".join(goals)


def ring(place: np.ndarray, radius: float, kind: str) -> str:
    return f'<circle class="{kind}" cx="{place[0]:.1f}" cy="{-place[1]:.1f}" r="{radius:g}"/>'


def _svg(frame: Frame, body: str) -> str:
    return f'<svg class="view" viewBox="{frame.box}" aria-hidden="true">{body}</svg>'


def curve(xs: np.ndarray, ys: np.ndarray) -> str:
    """The `d` of a line through shares (n,) of width and height, 0 to 1, upwards; broken where a value is missing."""
    parts, pen = [], "M"
    for x, y in zip(xs, ys, strict=True):
        if np.isnan(x) or np.isnan(y):
            pen = "M"
            continue
        parts.append(f"{pen}{100 * min(max(x, 0.0), 1.0):.1f} {100 * (1 - min(max(y, 0.0), 1.0)):.1f}")
        pen = "L"
    return "".join(parts)


def profile(passages: Sequence[Passage], longest_mm: float, bins: int = BINS) -> np.ndarray | None:
    """The largest force (bins,) of all passages in each equal stretch of the inserted length up to `longest_mm`, NaN
    where none was measured; None where force or length was not recorded."""
    found = np.full(bins, np.nan)
    for p in passages:
        if p.force is not None and p.inserted_mm is not None:
            known = np.isfinite(p.force) & np.isfinite(p.inserted_mm)
            rows = np.clip((p.inserted_mm[known] / longest_mm * bins).astype(int), 0, bins - 1)
            np.fmax.at(found, rows, p.force[known])
    return None if np.isnan(found).all() else found


def area(shares: np.ndarray) -> str:
    """The `d` of bars (n,), shares of the height, side by side from left to right; nothing where a share is NaN."""
    width = 100 / len(shares)
    return "".join(
        f"M{i * width:.1f} 100V{100 * (1 - min(max(share, 0.0), 1.0)):.1f}h{width:.1f}V100z"
        for i, share in enumerate(shares)
        if not np.isnan(share)
    )
