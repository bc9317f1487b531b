"""How what another's code raised is said."""

from __future__ import annotations

import traceback


def explain(problem: BaseException) -> str:
    """First line: what it is. Then the traceback."""
    lines = traceback.format_exception(type(problem), problem, problem.__traceback__)
    return f"{type(problem).__name__}: {problem}\n{''.join(lines)}"
