"""How what another's code raised is said."""

from __future__ import annotations

import traceback


class Explained(Exception):
    """What was raised in another process; its text is what that process has made of it."""


def explain(problem: BaseException) -> str:
    """First line: what it is. Then the traceback."""
    if isinstance(problem, Explained):
        return str(problem)
    lines = traceback.format_exception(type(problem), problem, problem.__traceback__)
    return f"{type(problem).__name__}: {problem}\n{''.join(lines)}"
