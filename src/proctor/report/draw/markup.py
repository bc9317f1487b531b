"""Pieces of HTML that every section uses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from proctor.report import text
from proctor.report.draw.svg import esc
from proctor.report.model import MeanEstimate

NONE = f'<span class="none">{text.NONE}</span>'
ZERO = '<span class="none">0</span>'


def table(caption: str, header: Sequence[str], rows: Iterable[Sequence[str]], kind: str = "") -> str:
    """A table whose first column names its rows; cells are HTML. It scrolls sideways on a narrow screen."""
    head = "".join(f'<th scope="col">{cell}</th>' for cell in header)
    body = "".join(
        f'<tr><th scope="row">{name}</th>{"".join(_td(cell) for cell in cells)}</tr>\n' for name, *cells in rows
    )
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{esc(caption)}"><table class="{kind}">'
        f"<caption>{esc(caption)}</caption><thead><tr>{head}</tr></thead><tbody>\n{body}</tbody></table></div>\n"
    )


def _td(cell: str) -> str:
    return cell if cell.startswith("<td") else f"<td>{cell}</td>"


def spread(value: str, interval: str) -> str:
    if value == text.NONE:
        return NONE
    return f'{esc(value)} <span class="span">{esc(interval)}</span>' if interval != text.NONE else esc(value)


def lead(words: str) -> str:
    return f'<p class="lead">{esc(words)}</p>\n'


def small(words: str) -> str:
    """What goes with a number: its interval, its n, its unit."""
    return f'<span class="span">{esc(words)}</span>'


def number(n: int) -> str:
    return f"{n:,}" if n else ZERO


def definitions(entries: Mapping[str, str]) -> str:
    items = "".join(f"<div><dt>{esc(key)}</dt><dd>{esc(value)}</dd></div>" for key, value in entries.items())
    return f'<dl class="definitions">{items}</dl>'


def mean_with_n(estimate: MeanEstimate) -> str:
    """A mean with its interval, where there is one, and its own n."""
    if estimate.mean is None:
        return NONE
    span = f"{text.mean_range(estimate)}, " if estimate.interval else ""
    return f"{text.mean(estimate)} {small(f'{span}n {estimate.n:,}')}"
