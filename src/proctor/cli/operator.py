"""The operator at the terminal: who is asked where trials need a person."""

from __future__ import annotations

import select
import sys

from proctor.rollout.attending import Operator, Question


class TerminalOperator:
    """Asks on standard error and reads lines from standard input, which is a terminal."""

    def __init__(self) -> None:
        self._question: Question | None = None

    def ask(self, question: Question) -> None:
        while _line() is not None:
            pass  # what was typed before the question is no answer to it
        self._question = question
        self._show()

    def _show(self) -> None:
        assert self._question is not None
        print(f"\a{self._question.text}", file=sys.stderr, flush=True)

    def answer(self) -> str | None:
        line = _line()
        if line is None or self._question is None:
            return None
        said = line.strip().lower()
        if said in self._question.keys:
            return said
        self._show()
        return None

    def forget(self) -> None:
        self._question = None
        print("no answer is needed any more", file=sys.stderr, flush=True)


def _line() -> str | None:
    """A line that has been typed; None: none."""
    ready, _, _ = select.select([sys.stdin], [], [], 0)
    return (sys.stdin.readline() or None) if ready else None


def terminal_operator() -> Operator | None:
    """Somebody who can be asked; None where there is no terminal."""
    return TerminalOperator() if sys.stdin is not None and sys.stdin.isatty() else None
