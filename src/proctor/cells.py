"""Text in the cells of a CSV file.

A spreadsheet takes text that begins with `=`, `+`, `-`, `@`, a tab or a carriage return for a formula and runs it when
the file is opened. Names come from users, so such text gets an apostrophe before it, as in a spreadsheet; so does text
that begins with an apostrophe, and reading gives back what was written. Numbers are no text.
"""

from __future__ import annotations

FORMULAS = "=+-@\t\r"


def written(text: str) -> str:
    """The text as a cell has it."""
    return f"'{text}" if text.startswith(tuple(FORMULAS + "'")) else text


def read(cell: str) -> str:
    """The text that a cell stands for: `read(written(text))` is the text."""
    return cell[1:] if cell.startswith(tuple(f"'{first}" for first in FORMULAS + "'")) else cell
