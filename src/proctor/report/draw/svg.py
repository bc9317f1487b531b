"""Small pieces of SVG. Horizontal places are percentages of the drawing's width, so a plot fits a phone
without its strokes and text shrinking; heights are pixels."""

from __future__ import annotations

import html
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from proctor.stats import Interval

SHAPES = {
    "success": '<circle cx="7" cy="7" r="5"/>',
    "failure": '<path class="stroke" d="M3 3 11 11M11 3 3 11"/>',
    "truncated": '<rect class="open" x="3" y="3" width="8" height="8"/>',
    "done": '<circle class="open" cx="7" cy="7" r="5"/>',
    "invalid_action": '<path d="M7 2 12.5 11.5H1.5Z"/>',
    "policy_error": '<path d="M7 1 13 7 7 13 1 7Z"/>',
    "env_error": '<path class="stroke" d="M7 2V12M2 7H12"/>',
    "timeout": '<path d="M3 2H11L3 12H11Z"/>',
    "worker_lost": '<path class="stroke" d="M2 7H12"/>',
}
"""One shape per outcome on a 14 px square: the outcome can be read without its colour."""


def esc(value: object) -> str:
    """Text for HTML, in elements and in attributes."""
    return html.escape(str(value), quote=True)


def beside(path: str) -> str:
    """The address of a file of the run folder. Whatever a ledger says, it has no scheme and leads to no other host."""
    return quote(path.lstrip("/\\"))


def shape_definitions() -> str:
    symbols = "".join(f'<symbol id="s-{name}" viewBox="0 0 14 14">{body}</symbol>' for name, body in SHAPES.items())
    return f'<svg class="defs" width="0" height="0" aria-hidden="true" focusable="false">{symbols}</svg>'


def shape(outcome: str) -> str:
    return f'<svg class="shape o-{outcome}" aria-hidden="true"><use href="#s-{outcome}"/></svg>'


@dataclass(frozen=True)
class Axis:
    """A linear axis from `low` to `high`, drawn between 3 % and 97 % of the width."""

    low: float
    high: float
    ticks: tuple[float, ...]

    def share(self, value: float) -> float:
        """Where a value lies between the ends: 0 at `low`, 1 at `high`."""
        return (value - self.low) / (self.high - self.low)

    def x(self, value: float) -> str:
        return f"{3 + 94 * min(1.0, max(0.0, self.share(value))):.2f}%"


def unit_axis() -> Axis:
    return Axis(0.0, 1.0, (0.0, 0.25, 0.5, 0.75, 1.0))


def axis_for(values: list[float]) -> Axis:
    """The unit interval where it holds all values, else a span with round ticks."""
    low, high = min(values, default=0.0), max(values, default=1.0)
    if low >= 0 and high <= 1:
        return unit_axis()
    if low == high:
        low, high = low - 0.5 * (abs(low) or 1.0), high + 0.5 * (abs(high) or 1.0)
    return round_axis(low, high)


def round_axis(low: float, high: float) -> Axis:
    """The shortest axis with round ticks that holds both ends; `low` is below `high`."""
    step = _round_step((high - low) / 4)
    first, last = math.floor(low / step), math.ceil(high / step)
    return Axis(first * step, last * step, tuple(i * step for i in range(first, last + 1)))


def _round_step(raw: float) -> float:
    power = 10.0 ** math.floor(math.log10(raw))
    return next(m * power for m in (1, 2, 5, 10) if m * power >= raw * 0.999)


def interval_row(axis: Axis, value: float | None, interval: Interval | None, bounds: Interval | None = None) -> str:
    """One row of an interval plot: bounds as a dashed line, interval as a bar with caps, estimate as a dot."""
    parts = []
    for kind, span, y in (("bounds", bounds, 9), ("interval", interval, 0)):
        if span is not None:
            parts.append(f'<line class="{kind}" x1="{axis.x(span.low)}" x2="{axis.x(span.high)}" y1="{y}" y2="{y}"/>')
    parts += [upright("interval", axis.x(end), -4, 4) for end in interval or ()]
    if value is not None:
        kind = "dot" if interval is not None else "dot open"
        parts.append(f'<circle class="{kind}" cx="{axis.x(value)}" cy="0" r="4.5"/>')
    return track(axis, f'<svg y="50%" overflow="visible">{"".join(parts)}</svg>')


def track(axis: Axis, drawn: str) -> str:
    """A drawing on the grid of an axis; it stretches to the height of its row."""
    grid = "".join(upright("grid", axis.x(tick)) for tick in axis.ticks)
    return f'<svg class="track" width="100%" height="100%">{grid}{drawn}</svg>'


def upright(kind: str, x: str, top: float | str = 0, bottom: float | str = "100%") -> str:
    """An upright line at a place of the width."""
    return f'<line class="{kind}" x1="{x}" x2="{x}" y1="{top}" y2="{bottom}"/>'


def tick_words(value: float) -> str:
    return f"{value:g}".replace("-", "−")


def axis_row(axis: Axis, name: str, words: Callable[[float], str] = tick_words) -> str:
    """The ticks of an axis with their labels, and below them its name, which says the unit; as a row of its own."""
    ticks = "".join(
        upright("grid", axis.x(t), 0, 5)
        + f'<text class="tick" x="{axis.x(t)}" y="18" text-anchor="middle">{esc(words(t))}</text>'
        for t in axis.ticks
    )
    label = f'<text class="tick axis-name" x="50%" y="33" text-anchor="middle">{esc(name)}</text>'
    return f'<svg class="track" width="100%" height="38">{ticks}{label}</svg>'


def bar(value: float, interval: Interval | None) -> str:
    """A bar for a value in [0, 1] with its interval as a line on it."""
    drawn = '<rect class="rail" x="0" y="2" width="100%" height="8"/>'
    drawn += f'<rect class="fill" x="0" y="2" width="{100 * value:.2f}%" height="8"/>'
    if interval is not None and interval.high > interval.low:
        low, high = (100 * min(1.0, max(0.0, end)) for end in interval)
        drawn += f'<line class="whisker" x1="{low:.2f}%" x2="{high:.2f}%" y1="6" y2="6"/>'
    return f'<svg class="bar" width="100%" height="12" aria-hidden="true">{drawn}</svg>'


def stacked(counts: dict[str, int]) -> str:
    """Shares of outcomes as one bar."""
    total, at, parts = sum(counts.values()), 0.0, []
    for outcome, count in counts.items():
        share = 100 * count / total
        parts.append(
            f'<rect class="o-{outcome}" x="{at:.3f}%" y="0" width="{share:.3f}%" height="14">'
            f"<title>{esc(outcome)}: {count}</title></rect>"
        )
        at += share
    return f'<svg class="stack" width="100%" height="14" aria-hidden="true">{"".join(parts)}</svg>'


def runs(steps: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """(value, start, stop) of every stretch of equal values."""
    stop = 0
    for value, stretch in itertools.groupby(steps):
        start, stop = stop, stop + sum(1 for _ in stretch)
        yield value, start, stop
