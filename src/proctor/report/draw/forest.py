"""Rows of a name, a drawing and a value, on one axis."""

from __future__ import annotations

from collections.abc import Sequence

from proctor.report.draw.svg import esc


def forest(title: str, rows: Sequence[tuple[str, str, str]], axis: str) -> str:
    """A figure of interval rows: name, track, value of each."""
    summary = "; ".join(f"{name} {value}" for name, _, value in rows)
    return rows_figure(title, rows, axis, f"{title}: {summary}. The intervals are in the ranking table.")


def rows_figure(title: str, rows: Sequence[tuple[str, str, str]], axis: str, spoken: str, kind: str = "") -> str:
    """A figure of rows above an axis. Titles and names are text, drawings and values HTML; `spoken` says in words what
    is drawn, and `kind` is a class for CSS."""
    body = "".join(_row("row", *row) for row in rows) + _row("row axis", "", axis, "")
    opened = f'<figure class="{kind}">' if kind else "<figure>"
    drawn = f'<div role="img" aria-label="{esc(spoken)}">{body}</div>'
    return f"{opened}<figcaption>{esc(title)}</figcaption>{drawn}</figure>"


def _row(kind: str, name: str, track: str, value: str) -> str:
    return f'<div class="{kind}"><span class="name">{esc(name)}</span>{track}<span class="value">{value}</span></div>\n'
