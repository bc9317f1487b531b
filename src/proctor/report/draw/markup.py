"""Pieces of HTML that every section uses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from proctor.report import text
from proctor.report.draw.palette import BAD, GOOD, NEUTRAL, heat_step, scale_bar
from proctor.report.draw.svg import esc
from proctor.report.model import Finding
from proctor.stats import Interval

NONE = f'<span class="none">{text.NONE}</span>'
ZERO = '<span class="none">0</span>'
MEANINGS = {GOOD: ": the stronger, the better", BAD: ": the stronger, the worse", NEUTRAL: ""}
WIDE = 5
"""Columns from which a table is taken to be wider than a phone, by browsers that cannot find out."""
SHORT_VALUE = 7
"""Letters for which the last column of a figure has room by itself."""
FINDINGS = 10
"""How many findings are shown before the fold."""


def table(caption: str, header: Sequence[str], rows: Iterable[Sequence[str]], kind: str = "") -> str:
    """A table whose first column names its rows; cells are HTML. It scrolls sideways where it is wider than the page,
    with the names in sight, and says so."""
    head = "".join(f'<th scope="col">{cell}</th>' for cell in header)
    body = "".join(
        f'<tr><th scope="row">{name}</th>{"".join(_td(cell) for cell in cells)}</tr>\n' for name, *cells in rows
    )
    kinds = f"{kind} wide".strip() if len(header) >= WIDE else kind
    hint = '<span class="hint"> · scrolls sideways →</span>'
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{esc(caption)}"><table class="{kinds}">'
        f"<caption>{esc(caption)}{hint}</caption><thead><tr>{head}</tr></thead><tbody>\n{body}</tbody></table></div>\n"
    )


def plain_table(caption: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of plain text, as a terminal shows it; names of columns begin with a capital."""
    titles = [esc(name[:1].upper() + name[1:]) for name in header]
    return table(caption, titles, ([NONE if c == text.NONE else esc(c) for c in row] for row in rows))


def _td(cell: str) -> str:
    return cell if cell.startswith("<td") else f"<td>{cell}</td>"


def spread(value: str, interval: str) -> str:
    if value == text.NONE:
        return NONE
    return f"{esc(value)} {small(interval)}" if interval != text.NONE else esc(value)


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


def estimate(value: float | None, interval: Interval | None, n: int | None = None) -> str:
    """A value with its interval, where there is one, and its own n, where that is given."""
    if value is None:
        return NONE
    beside = [text.span(interval)] if interval else []
    beside += [] if n is None else [f"n {n:,}"]
    return f"{text.fixed(value, interval)} {small(', '.join(beside))}" if beside else text.fixed(value, interval)


def heat_cell(share: float | None, words: str, beside: str, title: str = "", scale: str = GOOD) -> str:
    """A cell of a heat map, coloured by a share of a scale of the palette; an empty one without a share."""
    if share is None:
        return f'<td class="empty">{NONE}{small(beside)}</td>'
    hover = f' title="{esc(title)}"' if title else ""
    return f'<td class="{scale}{heat_step(share)}"{hover}>{esc(words)}{small(beside)}</td>'


def scale_key(scale: str, low: str, high: str) -> str:
    """The colours of a scale of the palette with the values of its ends, and what they mean."""
    return f'<p class="scale">{esc(low)} {scale_bar(f"f{scale}")} {esc(high)}{MEANINGS[scale]}</p>\n'


def finding_list(found: Sequence[Finding]) -> str:
    """Findings as a list, those beyond the first ones behind a fold; "" without any."""
    items = [
        f'<li class="{f.level}"><span class="tag">{f.level.capitalize()}</span><span>{esc(f.text)}</span></li>'
        for f in found
    ]
    shown, folded = ("".join(part) for part in (items[:FINDINGS], items[FINDINGS:]))
    rest = f'<details><summary>{len(items) - FINDINGS} more</summary><ul class="findings">{folded}</ul></details>'
    return (f'<ul class="findings">{shown}</ul>' if shown else "") + (rest if folded else "")


def forest(title: str, rows: Sequence[tuple[str, str, str]], axis: str) -> str:
    """A figure of interval rows: name, track, value of each."""
    summary = "; ".join(f"{name} {value}" for name, _, value in rows)
    drawn = [figure_row(esc(name), track, value) for name, track, value in rows]
    widest = max((len(value) for *_, value in rows), default=0)
    return rows_figure(title, drawn, axis, f"{title}: {summary}. The intervals are in the ranking table.", "", widest)


def rows_figure(title: str, rows: Iterable[str], axis: str, spoken: str, kind: str = "", widest: int = 0) -> str:
    """A figure of rows (see `figure_row`) above an axis. `spoken` says in words what is drawn; `kind` is a class;
    `widest`: letters of the longest value, where these are not known to be short."""
    room = f' style="--value:{widest + 1}ch"' if widest > SHORT_VALUE else ""
    opened = f'<figure class="{kind}"{room}>' if kind else f"<figure{room}>"
    drawn = f'<div role="img" aria-label="{esc(spoken)}">{"".join(rows)}{figure_row("", axis, "", "row axis")}</div>'
    return f"{opened}<figcaption>{esc(title)}</figcaption>{drawn}</figure>"


def figure_row(name: str, track: str, value: str, kind: str = "row") -> str:
    """A row of a figure; all parts are HTML."""
    return f'<div class="{kind}"><span class="name">{name}</span>{track}<span class="value">{value}</span></div>\n'
