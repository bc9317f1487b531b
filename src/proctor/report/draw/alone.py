"""Drawings that stand alone: SVG of a fixed width with its colours in it, for notebooks, slides and files.

Whatever displays SVG displays them; they need neither a page nor its CSS. A drawing is light on dark and dark on light
alike, since it has no background.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from proctor.report.draw.svg import Axis, axis_for, esc, round_axis, tick_words
from proctor.stats import Interval

WIDTH, LEFT, RIGHT, ROW, TOP, FOOT = 680, 170, 130, 28, 34, 30
INK, FAINT, ACCENTS = "#7a7f87", "#c9ccd1", ("#2f6fb0", "#c2571a", "#2e8b57", "#8a4fa3", "#b03a48", "#6b6b1f")
_FONT = 'font-family="system-ui, sans-serif" font-size="12"'
_LABEL = 24
"""Letters of a name that have room."""


@dataclass(frozen=True)
class Drawing:
    """An SVG that a notebook displays by itself; `save` writes it to a file."""

    svg: str
    spoken: str
    """In words, what is drawn."""

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return self.spoken

    def save(self, path: str | Path) -> Path:
        """Write the SVG to a file, and say where."""
        Path(path).write_text(self.svg, encoding="utf-8")
        return Path(path)


@dataclass(frozen=True)
class Row:
    """A named value with its interval, and the words that say so."""

    name: str
    value: float | None
    interval: Interval | None
    words: str


def intervals(title: str, rows: Sequence[Row], zero: bool = False) -> Drawing:
    """Values with their intervals, one below the other; `zero`: with a line at 0, for differences."""
    ends = [end for row in rows for end in (*(row.interval or ()), *(() if row.value is None else (row.value,)))]
    axis = axis_for([*ends, 0.0] if zero else ends)
    bottom = TOP + ROW * len(rows)
    parts = [_grid(axis, TOP, bottom)]
    if zero:
        x = _x(axis, 0.0)
        parts.append(f'<line x1="{x}" x2="{x}" y1="{TOP}" y2="{bottom}" stroke="{INK}" stroke-dasharray="3 3"/>')
    parts += [_interval(axis, row, TOP + ROW * (i + 0.5)) for i, row in enumerate(rows)]
    spoken = f"{title}: " + "; ".join(f"{row.name} {row.words}" for row in rows)
    return _drawing(title, bottom + FOOT, parts, spoken)


def lines(title: str, across: str, found: Sequence[tuple[str, np.ndarray]], height: int = 220) -> Drawing:
    """Series over their steps, each named."""
    known = [values[np.isfinite(values)] for _, values in found]
    every = np.concatenate(known) if known else np.empty(0)
    low, high = (float(every.min()), float(every.max())) if len(every) else (0.0, 1.0)
    up = round_axis(low, high) if high > low else axis_for([low])
    steps = max((len(values) for _, values in found), default=1)
    along = round_axis(0.0, float(max(steps - 1, 1)))
    box = (LEFT - 90, TOP, WIDTH - 20, TOP + height)
    parts = [_up_grid(up, box), _along_ticks(along, box, across)]
    parts += [_polyline(values, up, along, box, i) for i, (_, values) in enumerate(found)]
    parts += [
        f'<text x="{box[0] + 8}" y="{TOP + 14 + 15 * i}" fill="{ACCENTS[i % len(ACCENTS)]}">{esc(name)}</text>'
        for i, (name, _) in enumerate(found)
        if len(found) > 1
    ]
    spoken = f"{title}: {steps} steps, between {tick_words(low)} and {tick_words(high)}"
    return _drawing(title, TOP + height + FOOT + 12, parts, spoken)


def _drawing(title: str, height: int, parts: Sequence[str], spoken: str) -> Drawing:
    head = f'<text x="0" y="18" font-weight="600" fill="{INK}">{esc(title)}</text>'
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'role="img" aria-label="{esc(spoken)}" {_FONT}>{head}{"".join(parts)}</svg>'
    )
    return Drawing(svg, spoken)


def _x(axis: Axis, value: float) -> str:
    return f"{LEFT + (WIDTH - LEFT - RIGHT) * min(1.0, max(0.0, axis.share(value))):.1f}"


def _grid(axis: Axis, top: float, bottom: float) -> str:
    return "".join(
        f'<line x1="{_x(axis, t)}" x2="{_x(axis, t)}" y1="{top}" y2="{bottom}" stroke="{FAINT}"/>'
        f'<text x="{_x(axis, t)}" y="{bottom + 16}" text-anchor="middle" fill="{INK}">{esc(tick_words(t))}</text>'
        for t in axis.ticks
    )


def _interval(axis: Axis, row: Row, y: float) -> str:
    name = row.name if len(row.name) <= _LABEL else row.name[: _LABEL - 1] + "…"
    parts = [f'<text x="{LEFT - 12}" y="{y + 4:.1f}" text-anchor="end" fill="{INK}">{esc(name)}</text>']
    if row.interval is not None:
        low, high = _x(axis, row.interval.low), _x(axis, row.interval.high)
        stroke = f'stroke="{ACCENTS[0]}" stroke-width="2"'
        parts.append(f'<line x1="{low}" x2="{high}" y1="{y}" y2="{y}" {stroke}/>')
        parts += [f'<line x1="{x}" x2="{x}" y1="{y - 4}" y2="{y + 4}" {stroke}/>' for x in (low, high)]
    if row.value is not None:
        parts.append(f'<circle cx="{_x(axis, row.value)}" cy="{y}" r="4.5" fill="{ACCENTS[0]}"/>')
    parts.append(f'<text x="{WIDTH - RIGHT + 14}" y="{y + 4:.1f}" fill="{INK}">{esc(row.words)}</text>')
    return "".join(parts)


def _up_grid(axis: Axis, box: tuple[int, int, int, int]) -> str:
    left, top, right, bottom = box
    places = [(t, bottom - (bottom - top) * axis.share(t)) for t in axis.ticks]
    return "".join(
        f'<line x1="{left}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}" stroke="{FAINT}"/>'
        f'<text x="{left - 8}" y="{y + 4:.1f}" text-anchor="end" fill="{INK}">{esc(tick_words(t))}</text>'
        for t, y in places
    )


def _along_ticks(axis: Axis, box: tuple[int, int, int, int], words: str) -> str:
    left, _, right, bottom = box
    drawn = "".join(
        f'<text x="{left + (right - left) * axis.share(t):.1f}" y="{bottom + 16}" text-anchor="middle" fill="{INK}">'
        f"{esc(tick_words(t))}</text>"
        for t in axis.ticks
    )
    return drawn + f'<text x="{right}" y="{bottom + 32}" text-anchor="end" fill="{INK}">{esc(words)}</text>'


def _polyline(values: np.ndarray, up: Axis, along: Axis, box: tuple[int, int, int, int], number: int) -> str:
    left, top, right, bottom = box
    known = np.flatnonzero(np.isfinite(values))
    x = left + (right - left) * (known - along.low) / (along.high - along.low)
    y = bottom - (bottom - top) * (values[known] - up.low) / (up.high - up.low)
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))
    colour = ACCENTS[number % len(ACCENTS)]
    return f'<polyline fill="none" stroke="{colour}" stroke-width="1.5" points="{points}"/>'
