"""The agents in rank order."""

from __future__ import annotations

from typing import Any

from proctor.report import text
from proctor.report.draw import pipes
from proctor.report.draw.markup import NONE, lead, mean_with_n, number, spread, table
from proctor.report.draw.svg import esc
from proctor.report.model import AgentReport, MeanEstimate, Report
from proctor.report.section import Section

MAX_AGENTS = 20
SHARED = "Agents that share a letter are not significantly different in these trials."


class Ranking(Section):
    """Success, score, steps and time of every agent, with intervals and letters."""

    key, title, place = "ranking", "Ranking", 10

    def html(self, report: Report, data: Any) -> str:
        level = text.percent(report.context.level)
        header = ["Agent", "n", "Success", "Score", "Steps", "Steps to success", "Wall time", "Unscored"]
        words = (
            f"By mean score over all tasks; n counts scored trials. Small numbers are {level} intervals. Steps "
            "to success are of successes only, with their own n."
        )
        groups = letters_of(report)
        words += f" {SHARED}" if groups else ""
        rows = [_row(agent, groups.get(agent.agent, "")) for agent in report.agents]
        return lead(words) + table("Agents in rank order", header, rows, "ranking")

    def markdown(self, report: Report, data: Any) -> str:
        span = f"{text.percent(report.context.level)} interval"
        header = ["rank", "agent", "n", "success", span, "score", span, "steps", "unscored"]
        groups = letters_of(report)
        rows = [_cells(agent, groups.get(agent.agent)) for agent in report.agents[:MAX_AGENTS]]
        told = f"{SHARED}\n\n" if groups else ""
        more = pipes.more(len(report.agents) - MAX_AGENTS, "agent")
        return f"## Ranking\n\n{told}" + pipes.table(header, rows, left=2) + more


def letters_of(report: Report) -> dict[str, str]:
    """By agent, for scores; none where they were not all tested against each other."""
    standings = report.comparison.agents if report.comparison else ()
    return {standing.agent: found for standing in standings if (found := standing.letters.get("score"))}


def _row(agent: AgentReport, letters: str) -> list[str]:
    s = agent.overall
    rank = text.NONE if agent.rank is None else str(agent.rank)
    group = f' <span class="letters">{letters}</span>' if letters else ""
    return [
        f'<span class="rank">{rank}</span>{esc(agent.agent)}{group}',
        f"{s.n:,}",
        spread(text.percent(s.success.rate), text.percent_range(s.success.interval)),
        spread(text.mean(s.score), text.mean_range(s.score)),
        spread(text.mean(s.steps_total), text.mean_range(s.steps_total)),
        mean_with_n(s.steps_to_success),
        _seconds(s.wall_time_s),
        number(s.n_unscored),
    ]


def _seconds(estimate: MeanEstimate) -> str:
    return NONE if estimate.mean is None else f"{text.number(estimate.mean, 2)} s"


def _cells(agent: AgentReport, letters: str | None) -> list[str]:
    summary = agent.overall
    return [
        text.NONE if agent.rank is None else str(agent.rank),
        pipes.escape(agent.agent) + (f" ({letters})" if letters else ""),
        str(summary.n),
        text.percent(summary.success.rate),
        text.percent_range(summary.success.interval),
        text.mean(summary.score),
        text.mean_range(summary.score),
        text.number(summary.steps_total.mean),
        str(summary.n_unscored),
    ]
