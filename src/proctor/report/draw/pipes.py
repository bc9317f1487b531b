"""Pieces of Markdown that every section uses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from proctor.report import text
from proctor.report.model import Finding

FINDINGS = 12
"""How many findings are listed."""


def escape(words: str) -> str:
    """Text that Markdown and its HTML show as it is, on one line."""
    words = " ".join(words.split())
    for character in "\\`*_[]|#~":
        words = words.replace(character, f"\\{character}")
    return words.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def document(name: str, verdict: str, blocks: Iterable[str], generated_at: str) -> str:
    """A whole file: name, verdict, the blocks that are not empty, and when it was made."""
    parts = [f"# {escape(name)}", f"**{escape(verdict)}**", *blocks, f"<sub>{escape(generated_at)}</sub>"]
    return "\n\n".join(part for part in parts if part) + "\n"


def bullets(lines: Iterable[str]) -> str:
    """A list of plain sentences."""
    return "\n".join(f"- {escape(line)}" for line in lines)


def table(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """A pipe table; the first `left` columns are flush left, the others right."""
    rule = [":---" if i < left else "---:" for i in range(len(header))]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [header, rule, *rows])


def findings(found: Sequence[Finding], where: str = "the HTML file") -> str:
    """A list of the first findings, and how many more there are; "" without any."""
    shown = [f"- {'**Caution.** ' if f.level == 'caution' else ''}{escape(f.text)}" for f in found[:FINDINGS]]
    return "\n".join([*shown, f"- … and {len(found) - FINDINGS} more in {where}"] if len(found) > FINDINGS else shown)


def more(hidden: int, what: str, where: str = "`report.html`") -> str:
    """A line that counts what a table leaves out; "" where it leaves out nothing."""
    return f"\n\n… and {text.count(hidden, f'more {what}')} in {where}." if hidden > 0 else ""
