"""The ranked table at the end of a run, for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from proctor.report import text
from proctor.report.model import Report
from proctor.report.sections.ranking import letters_of

if TYPE_CHECKING:
    from rich.table import Table


def ranked_table(report: Report) -> Table:
    """A rich table: rank, agent, n, success and score with their intervals, steps, unscored trials."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    level = text.percent(report.context.level)
    table = Table(box=box.SIMPLE_HEAD, caption=_caption(report, level), caption_justify="left", pad_edge=False)
    table.add_column("rank", justify="right")
    table.add_column("agent", overflow="fold")
    for name in ("n", "success", "score", "steps", "unscored"):
        table.add_column(name, justify="right", no_wrap=True)
    groups = letters_of(report)
    for agent in report.agents:
        summary = agent.overall
        table.add_row(
            text.NONE if agent.rank is None else str(agent.rank),
            Text(agent.agent),
            str(summary.n),
            Text(_spread(text.percent(summary.success.rate), text.percent_range(summary.success.interval))),
            Text(_spread(text.mean(summary.score), text.span(summary.score.interval)) + _letters(groups, agent.agent)),
            text.number(summary.steps_total.mean),
            Text(str(summary.n_unscored), style="yellow" if summary.n_unscored else ""),
        )
    return table


def _caption(report: Report, level: str) -> str:
    told = "; agents that share a letter are not significantly different" if letters_of(report) else ""
    return f"[…]: {level} interval{told}"


def _spread(value: str, interval: str) -> str:
    return value if interval == text.NONE else f"{value} [{interval}]"


def _letters(groups: dict[str, str], agent: str) -> str:
    """Letters in a column of their own width; nothing where there are none."""
    width = max(map(len, groups.values()), default=-1) + 1
    return f" {groups.get(agent, '')}".ljust(width) if groups else ""
