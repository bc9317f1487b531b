"""What each term contributed, as stacked bars: costs to the left of zero, gains to the right, the total as a line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from proctor.report.draw.markup import figure_row, rows_figure
from proctor.report.draw.svg import Axis, axis_row, esc, round_axis, track, upright
from proctor.report.text import fixed, signed

COLOURS = 8


def term_bars(rows: Mapping[str, Mapping[str, float]], title: str) -> str:
    """A figure with a bar for every name; "" where nothing was contributed. Terms keep their colours between figures
    that list the same terms in the same order."""
    terms = list(dict.fromkeys(term for parts in rows.values() for term in parts))
    if not terms:
        return ""
    axis = _axis(list(rows.values()))
    drawn = [
        figure_row(esc(name), _track(parts, terms, axis), fixed(sum(parts.values()))) for name, parts in rows.items()
    ]
    spoken = "; ".join(
        f"{name} {', '.join(f'{term} {signed(value)}' for term, value in parts.items())}"
        for name, parts in rows.items()
    )
    return rows_figure(title, drawn, axis_row(axis, "score"), f"{title}: {spoken}.", "terms")


def term_legend(terms: Sequence[str]) -> str:
    items = "".join(
        f'<li><svg aria-hidden="true" width="14" height="14"><rect class="{_style(i)}" width="14" height="14"/></svg>'
        f"{esc(term)}</li>"
        for i, term in enumerate(terms)
    )
    return f'<ul class="legend">{items}</ul>'


def _axis(rows: Sequence[Mapping[str, float]]) -> Axis:
    low = min((sum(v for v in parts.values() if v < 0) for parts in rows), default=0.0)
    high = max((sum(v for v in parts.values() if v > 0) for parts in rows), default=0.0)
    return round_axis(min(low, 0.0), max(high, 0.0)) if low < high else round_axis(-1.0, 1.0)


def _track(parts: Mapping[str, float], terms: Sequence[str], axis: Axis) -> str:
    boxes, total = "".join(_boxes(parts, terms, axis)), upright("total", axis.x(sum(parts.values())), -9, 9)
    return track(axis, upright("zero", axis.x(0)) + f'<svg y="50%" overflow="visible">{boxes}{total}</svg>')


def _boxes(parts: Mapping[str, float], terms: Sequence[str], axis: Axis) -> list[str]:
    """Rectangles outwards from zero, each way in the order of the terms."""
    ends, boxes = {True: 0.0, False: 0.0}, []
    for number, term in enumerate(terms):
        value = parts.get(term, 0.0)
        if value == 0:
            continue
        start = ends[value > 0]
        ends[value > 0] = start + value
        left, right = sorted(float(axis.x(end).removesuffix("%")) for end in (start, start + value))
        boxes.append(
            f'<rect class="{_style(number)}" x="{left:.3f}%" y="-6" width="{right - left:.3f}%" height="12">'
            f"<title>{esc(term)}: {esc(signed(value))}</title></rect>"
        )
    return boxes


def _style(number: int) -> str:
    """Colour of a term, and a lighter one of it from the ninth on."""
    return f"term{number % COLOURS}" + (" light" if number >= COLOURS else "")
