"""One number for an agent over all tasks: the aggregates that the config asks for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from proctor.report import text
from proctor.report.draw import pipes
from proctor.report.draw.markup import NONE, lead, small, spread, table
from proctor.report.draw.svg import esc
from proctor.report.model import AgentAggregate, Finding, Report
from proctor.report.section import Grid, Section

MAX_AGENTS = 20
FEW_TASKS = 5
"""Tasks below which an interval that takes them for a sample is said to rest on few of them."""
TITLES = {
    "mean": "mean",
    "iqm": "interquartile mean",
    "median": "median of the tasks' means",
    "trial_median": "median of all trials",
}


class Aggregates(Section):
    """The table of aggregates, a row for every agent; nothing where the config asks for none."""

    key, title, place = "aggregates", "Aggregates over tasks", 45

    def html(self, report: Report, data: Any) -> str:
        if not report.aggregates:
            return ""
        rows = [[esc(agent), *map(_cell, own.values())] for agent, own in _by_agent(report)]
        return lead(_words(report)) + table("Aggregates by agent", ["Agent", *map(esc, _titles(report))], rows)

    def markdown(self, report: Report, data: Any) -> str:
        if not report.aggregates:
            return ""
        found = list(_by_agent(report))
        rows = [[pipes.escape(agent), *map(_plain, own.values())] for agent, own in found[:MAX_AGENTS]]
        words = f"## Aggregates over tasks\n\n{_words(report)}\n\n"
        more = pipes.more(len(found) - MAX_AGENTS, "agent")
        return words + pipes.table(["agent", *_titles(report)], rows) + more

    def terminal(self, report: Report, data: Any) -> Iterable[Grid | str]:
        if report.aggregates:
            rows = tuple((agent, *map(_plain, own.values())) for agent, own in _by_agent(report))
            yield Grid(_words(report), ("agent", *_titles(report)), rows)

    def keys(self, report: Report, data: Any) -> Mapping[str, Any]:
        if not report.aggregates:
            return {}
        chosen = report.config["report"]
        agents = [
            {"agent": agent, **{name: _key(found) for name, found in own.items()}} for agent, own in _by_agent(report)
        ]
        how = {"level": report.context.level, "intervals": chosen["intervals"], "target": chosen["target"]}
        return {"aggregates": {**how, "agents": agents}}

    def findings(self, report: Report) -> Iterable[Finding]:
        if not report.aggregates or report.config["report"]["intervals"] == "stratified":
            return
        if 1 < len(report.tasks) < FEW_TASKS:
            yield Finding(
                "caution",
                f"Intervals of the aggregates take the tasks for a sample of more, and there are {len(report.tasks)} "
                "of them: so few say little about others.",
            )


def _by_agent(report: Report) -> Iterator[tuple[str, dict[str, AgentAggregate]]]:
    for agent in report.agents:
        yield agent.agent, {found.name: found for found in report.aggregates if found.agent == agent.agent}


def _titles(report: Report) -> list[str]:
    names = dict.fromkeys(found.name for found in report.aggregates)
    target = report.config["report"]["target"]
    return [TITLES.get(name) or f"optimality gap to {target:g} (lower is better)" for name in names]


def _words(report: Report) -> str:
    level = text.percent(report.context.level)
    if report.config["report"]["intervals"] == "hierarchical":
        drawn = "of further tasks like these: tasks are drawn anew, and trials within them"
    else:
        drawn = "of further trials on these tasks: trials are drawn anew within tasks"
    return f"Of the scores on all tasks, with {level} intervals {drawn}."


def _cell(found: AgentAggregate) -> str:
    made = found.estimate
    if made.value is None:
        return f"{NONE} {small(str(made.reason))}"
    if made.interval is None:
        return f"{text.fixed(made.value)} {small(f'no interval: {made.reason}')}"
    return spread(text.fixed(made.value, made.interval), f"{text.span(made.interval)}, n {made.n:,}")


def _plain(found: AgentAggregate) -> str:
    made = found.estimate
    if made.value is None:
        return text.NONE
    span = "no interval" if made.interval is None else text.span(made.interval)
    return f"{text.fixed(made.value, made.interval)} [{span}]"


def _key(found: AgentAggregate) -> dict[str, Any]:
    made = found.estimate
    reason = None if made.reason is None else str(made.reason)
    return {"value": made.value, "n": made.n, "interval": made.interval, "no_interval_because": reason}
