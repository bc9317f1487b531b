"""The ranked table at the end of a run, for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from proctor.report import text
from proctor.report.model import Report

if TYPE_CHECKING:
    from rich.table import Table


def ranked_table(report: Report) -> Table:
    """A rich table: rank, agent, n, success and score with their intervals, steps, unscored trials."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    level = text.percent(report.context.level)
    table = Table(box=box.SIMPLE_HEAD, caption=f"[…]: {level} interval", caption_justify="left", pad_edge=False)
    table.add_column("rank", justify="right")
    table.add_column("agent", overflow="fold")
    for name in ("n", "success", "score", "steps", "unscored"):
        table.add_column(name, justify="right", no_wrap=True)
    for agent in report.agents:
        summary = agent.overall
        table.add_row(
            text.NONE if agent.rank is None else str(agent.rank),
            Text(agent.agent),
            str(summary.n),
            Text(_spread(text.percent(summary.success.rate), text.percent_range(summary.success.interval))),
            Text(_spread(text.mean(summary.score), text.mean_range(summary.score))),
            text.number(summary.steps_total.mean),
            Text(str(summary.n_unscored), style="yellow" if summary.n_unscored else ""),
        )
    return table


def _spread(value: str, interval: str) -> str:
    return value if interval == text.NONE else f"{value} [{interval}]"
