"""A leaderboard for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from proctor.report import text
from proctor.report.compare.console import empty_table, plain_cells
from proctor.report.leaderboard.words import episodes_words
from proctor.report.text import span_words, value_words
from proctor.verdict.leaderboard import Leaderboard

if TYPE_CHECKING:
    from rich.table import Table

MOST_TASKS = 4


def ranked_table(board: Leaderboard) -> Table:
    """Rank, agent, score with interval and letters, the first tasks, episodes."""
    hidden = len(board.tasks) - MOST_TASKS
    more = f"; {text.count(hidden, 'more task')} in leaderboard.md" if hidden > 0 else ""
    told = "letters: agents that share one are not significantly different"
    table = empty_table(f"[…]: {text.percent(board.level)} interval; {told}{more}")
    table.add_column("rank", justify="right")
    table.add_column("agent", overflow="fold")
    for name in ("score", "", *board.tasks[:MOST_TASKS], "episodes"):
        table.add_column(name, justify="left" if not name else "right", overflow="fold", no_wrap=name in ("score", ""))
    for entry in board.entries:
        span = "" if entry.interval is None else f" [{span_words(entry.interval)}]"
        table.add_row(
            *plain_cells(
                text.NONE if entry.rank is None else str(entry.rank),
                entry.agent,
                value_words(entry.score, entry.interval) + span,
                entry.letters or "",
                *(value_words(task.score, task.interval) for task in entry.tasks[:MOST_TASKS]),
                episodes_words(entry.n, entry.n_distinct),
            )
        )
    return table
