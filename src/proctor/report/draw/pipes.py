"""Pieces of Markdown that every section uses."""

from __future__ import annotations

from collections.abc import Sequence

from proctor.report import text
from proctor.report.model import Finding


def escape(words: str) -> str:
    """Text that Markdown and its HTML show as it is, on one line."""
    words = " ".join(words.split())
    for character in "\\`*_[]|#~":
        words = words.replace(character, f"\\{character}")
    return words.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def table(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """A pipe table; the first `left` columns are flush left, the others right."""
    rule = [":---" if i < left else "---:" for i in range(len(header))]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [header, rule, *rows])


def findings(found: Sequence[Finding], where: str = "the HTML file", most: int = 12) -> str:
    """A list of the first findings, and how many more there are; "" without any."""
    shown = [f"- {'**Caution.** ' if f.level == 'caution' else ''}{escape(f.text)}" for f in found[:most]]
    return "\n".join([*shown, f"- … and {len(found) - most} more in {where}"] if len(found) > most else shown)


def more(hidden: int, what: str, where: str = "`report.html`") -> str:
    """A line that counts what a table leaves out; "" where it leaves out nothing."""
    return f"\n\n… and {text.count(hidden, f'more {what}')} in {where}." if hidden > 0 else ""
