"""Draw the picture of docs/cluster.md from the table of the simulation that is in docs/benchmarks.md.

`python scripts/draw_cluster.py` writes docs/images/cluster-scale.svg."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"
GREY, BLUE, RED, SOFT = "#66727e", "#0b5fa5", "#c44e00", "#dde3e9"
WIDTH, HEIGHT = 700, 230
HEAD = "| nodes | slots |"
Row = dict[str, str]


def rows(page: str) -> list[Row]:
    """The simulation's table."""
    lines = iter(page.splitlines())
    head = next(line for line in lines if line.startswith(HEAD))
    next(lines)
    found = []
    for line in lines:
        if not line.startswith("|"):
            break
        found.append(dict(zip(_cells(head), _cells(line), strict=True)))
    return found


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def share(cell: str) -> float:
    """Of a cell such as 96.97%."""
    return float(cell.rstrip("%")) / 100


def words(x: float, y: float, text: str, anchor: str = "start", colour: str = "#16202a") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}" text-anchor="{anchor}">{text}</text>'


def bars(left: float, title: str, found: Iterable[Row], column: str, colour: str) -> list[str]:
    """A bar for each number of nodes; the whole height is 100 %."""
    top, bottom, step, broad = 48, 180, 76, 44
    parts = [words(left, 24, title)]
    for at in (0.0, 0.5, 1.0):
        y = bottom - at * (bottom - top)
        parts.append(f'<line x1="{left}" y1="{y:.1f}" x2="{left + 4 * step}" y2="{y:.1f}" stroke="{SOFT}"/>')
    for i, row in enumerate(found):
        x, high = left + i * step + (step - broad) / 2, share(row[column]) * (bottom - top)
        parts.append(f'<rect x="{x:.1f}" y="{bottom - high:.1f}" width="{broad}" height="{high:.1f}" fill="{colour}"/>')
        parts.append(words(x + broad / 2, bottom - high - 5, row[column], "middle"))
        parts.append(words(x + broad / 2, bottom + 17, row["nodes"], "middle", GREY))
    return [*parts, words(left + 2 * step, bottom + 36, "nodes of 16 slots (simulated)", "middle", GREY)]


def picture(page: str) -> str:
    found = rows(page)
    parts = bars(20, "time that slots work", found, "efficiency", BLUE)
    parts += bars(370, "time that the driver works", found, "driver busy", RED)
    size = f'width="{WIDTH}" height="{HEIGHT}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {WIDTH} {HEIGHT}"'
    paper = f'<rect {size} fill="#fff"/>'
    return "\n".join([f'{head} font-family="sans-serif" font-size="12">', paper, *parts, "</svg>\n"])


def main() -> None:
    drawn = picture((DOCS / "benchmarks.md").read_text())
    (DOCS / "images" / "cluster-scale.svg").write_text(drawn, encoding="utf-8")


if __name__ == "__main__":
    main()
