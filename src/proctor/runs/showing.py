"""Progress of a run that was started from Python: a line that is drawn anew in a notebook and in a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from proctor.report.draw.svg import esc
from proctor.rollout.progress import Observer, Progress


@contextmanager
def shown(wanted: bool | Observer | None) -> Iterator[Observer | None]:
    """An observer while the block lasts: the caller's own; None where progress is not wanted, or nobody is there to see
    it; else one that draws it in the notebook or the terminal, and takes it away at the end."""
    if callable(wanted):
        yield wanted
    elif wanted is not False and in_notebook():
        notebook = NotebookLine()
        yield notebook
        notebook.clear()
    elif wanted or (wanted is None and sys.stderr.isatty()):
        terminal = TerminalLine(sys.stderr)
        try:
            yield terminal
        finally:
            terminal.clear()
    else:
        yield None


def in_notebook() -> bool:
    """Whether this is a kernel of Jupyter, which displays what it is given."""
    shell: Any = sys.modules.get("IPython")
    found = None if shell is None else shell.get_ipython()
    return found is not None and type(found).__name__ == "ZMQInteractiveShell"


def line(p: Progress) -> str:
    """How far a run is, in words."""
    parts = [f"{p.done:,} of {p.planned:,} trials", f"{p.steps / max(p.seconds, 1e-9):,.0f} steps/s"]
    if p.seconds_left is not None and p.done < p.planned:
        parts.append(f"about {p.seconds_left:.0f} s left")
    return f"{p.phase}: " + ", ".join(parts)


class TerminalLine:
    """Overwrites one line."""

    def __init__(self, stream: Any):
        self._stream = stream

    def __call__(self, progress: Progress) -> None:
        self._stream.write(f"\r\x1b[2K{line(progress)[:100]}")
        self._stream.flush()

    def clear(self) -> None:
        self._stream.write("\r\x1b[2K")
        self._stream.flush()


class NotebookLine:
    """A bar in a notebook's cell, by what IPython itself has."""

    def __init__(self) -> None:
        self._handle: Any = None

    def __call__(self, progress: Progress) -> None:
        from IPython.display import HTML, display

        drawn = HTML(bar(progress))
        if self._handle is None:
            self._handle = display(drawn, display_id=True)
        else:
            self._handle.update(drawn)

    def clear(self) -> None:
        from IPython.display import HTML

        if self._handle is not None:
            self._handle.update(HTML(""))


def bar(progress: Progress) -> str:
    """A run's progress as HTML."""
    done, planned = progress.done, max(progress.planned, 1)
    return f'<progress value="{done}" max="{planned}" style="width:20em"></progress> {esc(line(progress))}'
