"""Passages as PNG files, for viewers: at the left the tip's path coloured by time and the wire as it lay at the end, at
the right the path coloured by wall force. Light colours, no text."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from proctor.report.draw.palette import hex_steps
from proctor.report.draw.png import png
from proctor.report.formats.files import replacing
from proctor.suites.endovascular.report import drawing
from proctor.suites.endovascular.report.drawing import Frame, Scales
from proctor.suites.endovascular.report.model import Passage, Vessel

HEIGHT_PX, WIDEST_PX, GAP_PX = 720, 960, 24
PATH_PX, WIRE_PX, RING_PX = 2.6, 0.9, 1.2
LUMEN, WALL, INK, GOAL, UNKNOWN = "#eef2f6", "#b4bfca", "#16202a", "#b3131b", "#b4bfca"


@dataclass(frozen=True)
class Look(Scales):
    """With the vessels of a task already drawn, by key."""

    grounds: Mapping[str | None, np.ndarray]


def write_pictures(folder: Path, passages: Sequence[Passage]) -> None:
    """Write the PNG of every pictured passage under `folder`, and remove those of records that have no picture now."""
    pictures = folder / "pictures"
    shown = {p.picture: p for p in passages if p.picture is not None}
    if shown:
        pictures.mkdir(exist_ok=True)
    for task in dict.fromkeys(p.task for p in passages):
        own = [p for p in passages if p.task == task]
        look = look_of(own)
        for p in own:
            if p.picture is not None:
                with replacing(folder / p.picture) as temporary:
                    temporary.write_bytes(png(drawn(p, look)))
    for path in sorted(pictures.glob("*.png")) if pictures.is_dir() else []:
        if f"pictures/{path.name}" not in shown and (folder / "trials" / f"{path.stem}.npz").exists():
            path.unlink()


def look_of(passages: Sequence[Passage]) -> Look:
    """For the passages of one task."""
    scales = drawing.scales_of(passages)
    vessels: dict[str | None, Vessel | None] = {None: None, **{p.vessel.key: p.vessel for p in passages if p.vessel}}
    grounds = {key: _ground(vessel, scales.frame) for key, vessel in vessels.items()}
    return Look(**vars(scales), grounds=grounds)


def drawn(passage: Passage, look: Look) -> np.ndarray:
    """The picture of a passage, uint8 (height, width, 3)."""
    ground = look.grounds[None if passage.vessel is None else passage.vessel.key].copy()
    if passage.target is not None:
        _ring(ground, look.frame, passage.target, passage.threshold_mm or 3.0, GOAL)
    left, right = ground, ground.copy()
    _path(left, look.frame, passage.tip, drawing.time_steps(passage, look.longest), hex_steps(drawing.TIME[0]))
    if passage.wire is not None:
        _stroke(left, pixels(passage.wire, look.frame), WIRE_PX, INK)
    _path(right, look.frame, passage.tip, drawing.force_steps(passage, look.hardest), hex_steps(drawing.FORCE[0]))
    if passage.peak is not None and passage.peak.force > 0:
        _ring(right, look.frame, passage.peak.place, drawing.PEAK_MM, INK)
    gap = np.full((left.shape[0], GAP_PX, 3), 255.0)
    return np.clip(np.rint(np.hstack([left, gap, right])), 0, 255).astype(np.uint8)


def _scale(frame: Frame) -> float:
    """Pixels per mm."""
    return min(HEIGHT_PX / frame.height, WIDEST_PX / frame.width)


def pixels(points: np.ndarray, frame: Frame) -> np.ndarray:
    """Places (n, 2) of the C-arm's picture as pixels, to the right and down."""
    return (points * [1.0, -1.0] - [frame.left, frame.top]) * _scale(frame)


def cover(shape: tuple[int, int], points: np.ndarray, radii: np.ndarray | float) -> np.ndarray:
    """How much, 0 to 1, each pixel is covered by the line through points (n, 2), pixels, of these half widths."""
    mask = np.zeros(shape)
    wide = np.broadcast_to(np.asarray(radii, float), (len(points),))
    pairs = itertools.pairwise(zip(points, wide, strict=True)) if len(points) > 1 else [((points[0], wide[0]),) * 2]
    for (a, radius), (b, _) in pairs:
        reach = radius + 1
        x0, y0 = np.maximum(np.floor(np.minimum(a, b) - reach).astype(int), 0)
        x1, y1 = np.minimum(np.ceil(np.maximum(a, b) + reach).astype(int), [shape[1], shape[0]])
        if x0 >= x1 or y0 >= y1:
            continue
        xs, ys = np.arange(x0, x1)[None, :] + 0.5 - a[0], np.arange(y0, y1)[:, None] + 0.5 - a[1]
        along = b - a
        share = np.clip((xs * along[0] + ys * along[1]) / max(float(along @ along), 1e-9), 0, 1)
        away = np.hypot(xs - share * along[0], ys - share * along[1])
        part = mask[y0:y1, x0:x1]
        np.maximum(part, np.clip(radius + 0.5 - away, 0, 1), out=part)
    return mask


def _ground(vessel: Vessel | None, frame: Frame) -> np.ndarray:
    """Paper and vessel."""
    scale = _scale(frame)
    shape = (math.ceil(frame.height * scale), math.ceil(frame.width * scale))
    canvas = np.full((*shape, 3), 255.0)
    if vessel is None:
        return canvas
    for margin, colour in ((drawing.WALL_MM, WALL), (0.0, LUMEN)):
        mask = np.zeros(shape)
        for points, radii in vessel.branches():
            kept = drawing.spaced(points, drawing.CENTRELINE_MM)
            mask = np.maximum(mask, cover(shape, pixels(points[kept], frame), (radii[kept] + margin) * scale))
        _blend(canvas, mask, colour)
    return canvas


def _path(canvas: np.ndarray, frame: Frame, tip: np.ndarray, steps: Sequence[int], colours: Sequence[str]) -> None:
    """The path, later stretches over earlier ones."""
    places = pixels(tip, frame)
    for i in range(min(1, len(tip) - 1), len(tip)):
        colour = UNKNOWN if steps[i] < 0 else colours[steps[i]]
        _stroke(canvas, places[max(i - 1, 0) : i + 1], PATH_PX, colour)


def _ring(canvas: np.ndarray, frame: Frame, centre: np.ndarray, radius_mm: float, colour: str) -> None:
    turn = np.linspace(0, 2 * np.pi, 49)
    circle = centre + radius_mm * np.stack([np.cos(turn), np.sin(turn)], axis=1)
    _stroke(canvas, pixels(circle, frame), RING_PX, colour)


def _stroke(canvas: np.ndarray, places: np.ndarray, radius: float, colour: str) -> None:
    """A line through places, pixels; only the part of the canvas around it is touched."""
    low = np.maximum(np.floor(places.min(axis=0) - radius - 2).astype(int), 0)
    high = np.maximum(np.ceil(places.max(axis=0) + radius + 2).astype(int), low)
    part = canvas[low[1] : high[1], low[0] : high[0]]
    _blend(part, cover(part.shape[:2], places - low, radius), colour)


def _blend(canvas: np.ndarray, mask: np.ndarray, colour: str) -> None:
    rgb = np.frombuffer(bytes.fromhex(colour[1:]), np.uint8).astype(float)
    canvas += mask[:, :, None] * (rgb - canvas)
