"""What environment code may break, and how it is told."""

from __future__ import annotations

import traceback

BREAKS = (Exception, SystemExit)
"""What environment code may raise without ending the worker."""


def explain(problem: BaseException) -> str:
    """First line: what it is. Then the traceback."""
    return f"{type(problem).__name__}: {problem}\n{''.join(traceback.format_exception(problem))}"
