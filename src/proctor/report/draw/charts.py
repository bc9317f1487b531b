"""Line charts that stretch to the page: lines in a box of 100 x 100, ticks beside it in pixels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from proctor.report.draw.svg import Axis, esc

COLOURS, DASHES = 8, 4


@dataclass(frozen=True, eq=False)
class Line:
    """`x` ascending; `low` and `high` are a band, or whiskers where `points`. NaN leaves a gap in the whiskers only."""

    name: str
    x: np.ndarray
    y: np.ndarray
    low: np.ndarray | None = None
    high: np.ndarray | None = None
    points: bool = False


@dataclass(frozen=True)
class Frame:
    """The axes of a chart with their tick labels and their names, which say the unit, and what to call it."""

    title: str
    across: Axis
    up: Axis
    labels_across: Sequence[str]
    labels_up: Sequence[str]
    name_across: str
    name_up: str


def chart(frame: Frame, lines: Sequence[Line], spoken: str, key: str = "") -> str:
    """A figure. `spoken` says in words what it shows; `key` is HTML above the plot, such as a legend."""
    drawn = "".join(_line(frame, line, number) for number, line in enumerate(lines))
    stretched = 'viewBox="0 0 100 100" preserveAspectRatio="none" width="100%" height="100%" overflow="visible"'
    box = f"<svg {stretched}>{_grid(frame)}{drawn}</svg>"
    return (
        f'<figure class="chart"><figcaption>{esc(frame.title)}</figcaption>{key}'
        f'<div role="img" aria-label="{esc(spoken)}"><span class="axis-up">{esc(frame.name_up)}</span>'
        f'<svg class="plot">{box}{_ticks(frame)}</svg><span class="axis-across">{esc(frame.name_across)}</span></div>'
        "</figure>\n"
    )


def legend(names: Sequence[str]) -> str:
    items = "".join(
        f'<li><svg aria-hidden="true"><line class="{style(i)}" x1="0" x2="26" y1="4" y2="4"/></svg>{esc(name)}</li>'
        for i, name in enumerate(names)
    )
    return f'<ul class="lines">{items}</ul>'


def style(number: int) -> str:
    """Colour and dash of a line: 32 that differ."""
    return f"k{number % COLOURS} d{number // COLOURS % DASHES}"


def _share(axis: Axis, values: np.ndarray) -> np.ndarray:
    return 100 * np.clip((values - axis.low) / (axis.high - axis.low), 0, 1)


def _line(frame: Frame, line: Line, number: int) -> str:
    x, y = _share(frame.across, line.x), 100 - _share(frame.up, line.y)
    known = np.isfinite(y)
    path = _points(x[known], y[known])
    drawn = f'<polyline class="line {style(number)}" style="fill:none" points="{path}"/>'
    if line.low is None or line.high is None:
        return drawn
    low, high = 100 - _share(frame.up, line.low), 100 - _share(frame.up, line.high)
    if line.points:
        return drawn + "".join(
            f'<line class="whisker {style(number)}" x1="{a:.2f}" x2="{a:.2f}" y1="{b:.2f}" y2="{c:.2f}"/>'
            for a, b, c in zip(x, low, high, strict=True)
            if np.isfinite(b) and np.isfinite(c)
        )
    band = f"{_points(x, low)} {_points(x[::-1], high[::-1])}"
    return f'<polygon class="band {style(number)}" points="{band}"/>{drawn}'


def _points(x: np.ndarray, y: np.ndarray) -> str:
    return " ".join(f"{a:.2f},{b:.2f}" for a, b in zip(x, y, strict=True))


def _grid(frame: Frame) -> str:
    ups = [100 - float(_share(frame.up, np.array(t))) for t in frame.up.ticks]
    return "".join(f'<line class="grid" x1="0" x2="100" y1="{y:.2f}" y2="{y:.2f}"/>' for y in ups)


def _ticks(frame: Frame) -> str:
    ups = [
        f'<text class="tick" x="-6" y="{100 - float(_share(frame.up, np.array(t))):.2f}%" dy="4" text-anchor="end">'
        f"{esc(label)}</text>"
        for t, label in zip(frame.up.ticks, frame.labels_up, strict=True)
    ]
    across = [
        f'<text class="tick" x="{float(_share(frame.across, np.array(t))):.2f}%" y="100%" dy="16" '
        f'text-anchor="middle">{esc(label)}</text>'
        for t, label in zip(frame.across.ticks, frame.labels_across, strict=True)
    ]
    return "".join([*ups, *across])
