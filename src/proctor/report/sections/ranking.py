"""What a reader sees first: the agents in rank order, and what must be known before using the numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from proctor.report import text
from proctor.report.draw import pipes
from proctor.report.draw.markup import NONE, estimate, finding_list, lead, number, spread, table
from proctor.report.draw.svg import esc
from proctor.report.model import AgentReport, Report
from proctor.report.section import Section
from proctor.stats import Interval
from proctor.verdict.comparison import Comparison, Measure

MAX_AGENTS = 20
SHARED = "Agents that share a letter are not significantly different in these trials."


class Ranking(Section):
    """Success, score, steps and time of every agent, with intervals and letters."""

    key, title, place = "ranking", "Ranking", 10

    def html(self, report: Report, data: Any) -> str:
        level = text.percent(report.context.level)
        reached = report.defines_success and any(task.success_rule != "throughout" for task in report.tasks)
        to_success = ["Steps to success"] if reached else []
        named = [measure.capitalize() for measure in report.measures]
        header = ["Agent", "n", *named, "Steps", *to_success, "Wall time", "Unscored"]
        words = f"By mean score over all tasks; n counts scored trials. Small numbers are {level} intervals."
        if to_success:
            words += (
                " Steps to success are of successes only, with their own n, and given by task where tasks differ in "
                "length."
            )
        groups = letters_of(report)
        words += f" {SHARED}" if groups else ""
        words_of = ranking_words(report)
        measured = [[words_of[agent.agent][measure] for measure in report.measures] for agent in report.agents]
        rows = [
            _row(agent, groups.get(agent.agent, ""), own, bool(to_success))
            for agent, own in zip(report.agents, measured, strict=True)
        ]
        return lead(words) + table("Agents in rank order", header, rows, "ranking")

    def markdown(self, report: Report, data: Any) -> str:
        span = f"{text.percent(report.context.level)} interval"
        named = [name for measure in report.measures for name in (measure, span)]
        header = ["rank", "agent", "n", *named, "steps", "unscored"]
        groups = letters_of(report)
        words_of = ranking_words(report)
        rows = [
            _cells(agent, groups.get(agent.agent), [words_of[agent.agent][measure] for measure in report.measures])
            for agent in report.agents[:MAX_AGENTS]
        ]
        told = f"{SHARED}\n\n" if groups else ""
        more = pipes.more(len(report.agents) - MAX_AGENTS, "agent")
        return f"## Ranking\n\n{told}" + pipes.table(header, rows, left=2) + more


class Findings(Section):
    """Every finding; beyond the first ones behind a fold."""

    key, title, place = "findings", "Findings", 30

    def html(self, report: Report, data: Any) -> str:
        return finding_list(report.findings)


def letters_of(report: Report) -> dict[str, str]:
    """By agent, for scores; none where they were not all tested against each other."""
    standings = report.comparison.agents if report.comparison else ()
    return {standing.agent: found for standing in standings if (found := standing.letters.get("score"))}


Words = dict[str, dict[Measure, tuple[str, str]]]
"""By agent and measure: the value and its interval."""


def ranking_words(report: Report) -> Words:
    """With the digits that show the ranking. The same on every page of a run."""
    own = [(agent.agent, agent.overall.success, agent.overall.score) for agent in report.agents]
    return _words([(name, rate.rate, rate.interval, score.mean, score.interval) for name, rate, score in own])


def standing_words(found: Comparison) -> Words:
    """The same of the agents of a comparison."""
    return _words([(a.agent, a.rate, a.rate_interval, a.score, a.score_interval) for a in found.agents])


def _words(rows: Sequence[tuple[str, float | None, Interval | None, float | None, Interval | None]]) -> Words:
    rates = text.ranked_rates([rate for _, rate, *_ in rows])
    scores = text.ranked_means([score for *_, score, _ in rows], [interval for *_, interval in rows])
    return {
        name: {"success": (rate, text.percent_range(of_rate)), "score": (score, text.span(of_score))}
        for (name, _, of_rate, _, of_score), rate, score in zip(rows, rates, scores, strict=True)
    }


def _row(agent: AgentReport, letters: str, measured: Sequence[tuple[str, str]], to_success: bool) -> list[str]:
    s = agent.overall
    reached = s.steps_to_success
    group = f' <span class="letters">{letters}</span>' if letters else ""
    return [
        f'<span class="rank">{text.rank(agent.rank)}</span>{esc(agent.agent)}{group}',
        f"{s.n:,}",
        *(spread(*own) for own in measured),
        spread(text.mean(s.steps_total), text.span(s.steps_total.interval)),
        *([estimate(reached.mean, reached.interval, reached.n)] if to_success else []),
        NONE if s.wall_time_s.mean is None else f"{text.number(s.wall_time_s.mean, 2)} s",
        number(s.n_unscored),
    ]


def _cells(agent: AgentReport, letters: str | None, measured: Sequence[tuple[str, str]]) -> list[str]:
    summary = agent.overall
    return [
        text.rank(agent.rank),
        pipes.escape(agent.agent) + (f" ({letters})" if letters else ""),
        str(summary.n),
        *(words for own in measured for words in own),
        text.number(summary.steps_total.mean),
        str(summary.n_unscored),
    ]
