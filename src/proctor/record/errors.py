"""Errors of trials in one line: the line that decides, and which of them say the same."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

LONGEST = 200
TRACEBACK = "Traceback (most recent call last):"
_VARIABLE = re.compile(r"(0x[0-9a-fA-F]+|[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)")
"""What differs between messages of one cause: addresses, and numbers such as seeds and steps."""
VARIES = "…"


def decisive_line(error: str) -> str:
    """The line that says what went wrong, cut to what fits a table: that of the exception which the last traceback ends
    with; without a traceback the first line. A line that announces another (`...:`) is joined with it."""
    lines = [line for line in error.splitlines() if line.strip()]
    starts = [i for i, line in enumerate(lines) if line.rstrip().endswith(TRACEBACK)]
    at = _exception(lines, starts[-1]) if starts else 0
    if at >= len(lines):
        return ""
    found = lines[at].strip()
    if found.endswith(":") and at + 1 < len(lines):
        found = f"{found} {lines[at + 1].strip()}"
    elif starts and ":" not in found and _source(lines[:at]):
        found = f"{found}: {_source(lines[:at])}"
    return found if len(found) <= LONGEST else found[: LONGEST - 1] + "…"


def _exception(lines: Sequence[str], start: int) -> int:
    """Where the exception stands that ends the traceback which begins at `start`: the first line that is indented no
    more than it."""
    margin = _indent(lines[start])
    return next((i for i in range(start + 1, len(lines)) if _indent(lines[i]) <= margin), start)


def _source(before: Sequence[str]) -> str:
    """The line of code that raised, where the traceback shows it."""
    shown = (line.strip() for line in reversed(before) if set(line.strip()) - set("^~ "))
    last = next(shown, "")
    return "" if last.startswith(("File ", TRACEBACK)) else last


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def skeleton(message: str) -> str:
    """What messages of one cause have in common."""
    return _VARIABLE.sub(VARIES, _even(message))


def merged(messages: Iterable[str]) -> str:
    """Messages of one skeleton as one: numbers and addresses in which they differ are left open."""
    different = list(dict.fromkeys(messages))
    if len(different) == 1:
        return different[0]
    parts = [_VARIABLE.split(_even(message)) for message in different]
    return "".join(same[0] if len(set(same)) == 1 else VARIES for same in zip(*parts, strict=True))


def _even(message: str) -> str:
    """Without the spaces that numpy pads numbers with."""
    return re.sub(r"(?<=\[) +| +(?=\])", "", re.sub(r" +", " ", message))
