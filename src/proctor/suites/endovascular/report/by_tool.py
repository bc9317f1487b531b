"""Tools in a report: what agents got with each, and which tool they got most with.

An agent brings its tool, or a task has one. A tool is judged by the agents that worked with it, each by its mean over
the tasks on which it did: n counts agents, and further trials of one agent say nothing of others. Where a tool has one
agent, its effect cannot be separated from the agent's, which is said.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from proctor.report import text
from proctor.report.build.judgement import p_value
from proctor.report.draw import pipes
from proctor.report.draw.markup import lead, plain_table
from proctor.report.model import AgentReport, Finding, Report, Summary
from proctor.report.section import Grid, Section
from proctor.stats import Interval
from proctor.verdict.methods import FEW, Member, Method, Methods, judge_methods

CUSTOM = "custom"
RANKED = ("tool", "rank", "agents", "mean", "interval", "success", "best agent", "its mean", "letters")
OWN = ("agent", "place", "trials", "success", "score", "steps to success", "tip speed max mm/s", "wall force max")
AGAINST = "Two tools against each other"
PAIRS = ("first minus second", "agents", "difference", "interval", "p (Holm)")


@dataclass(frozen=True)
class Use:
    """One agent with one tool: over all tasks, or on the task `on` where it has other tools on others."""

    tool: str
    agent: str
    summary: Summary
    on: str | None = None

    @property
    def title(self) -> str:
        return self.agent if self.on is None else f"{self.agent} on {self.on}"


class ToolTables(Section):
    """The ranking of tools, and for each tool the agents that worked with it; nothing with fewer than two tools."""

    key, title, place, suites = "tools", "By tool", 48, ("endovascular", "steve")

    def html(self, report: Report, data: Any) -> str:
        uses, found = _judged(report)
        if found is None:
            return ""
        drawn = lead(_words(found, uses)) + plain_table("Ranking of tools", RANKED, _ranked(report, found, uses))
        pairs = _pairs(found)
        drawn += plain_table(AGAINST, PAIRS, pairs) if pairs else ""
        return drawn + "".join(plain_table(f"Tool {m.name}", OWN, _own(report, uses, m.name)) for m in found.methods)

    def markdown(self, report: Report, data: Any) -> str:
        uses, found = _judged(report)
        if found is None:
            return ""
        blocks = ["## By tool", _words(found, uses), _piped(RANKED, _ranked(report, found, uses))]
        blocks += [_piped(PAIRS, pairs)] if (pairs := _pairs(found)) else []
        for method in found.methods:
            blocks += [f"### {pipes.escape(method.name)}", _piped(OWN, _own(report, uses, method.name))]
        return "\n\n".join(blocks)

    def terminal(self, report: Report, data: Any) -> Iterable[Grid | str]:
        uses, found = _judged(report)
        if found is not None:
            yield Grid("Tools, by the agents that worked with them", RANKED, tuple(_ranked(report, found, uses)))
            if pairs := _pairs(found):
                yield Grid(AGAINST, PAIRS, tuple(pairs))

    def keys(self, report: Report, data: Any) -> Mapping[str, Any]:
        uses, found = _judged(report)
        if found is None:
            return {}
        tools = [_keys(report, method, uses) for method in found.methods]
        pairs = [
            {"a": pair.a, "b": pair.b, "difference": pair.difference, "interval": pair.interval,
             "p_adjusted": pair.p_adjusted, "different": found.different(pair)}
            for pair in found.pairs
        ]  # fmt: skip
        return {"tools": {"measure": found.by, "level": found.level, "tools": tools, "pairs": pairs}}

    def findings(self, report: Report) -> Iterable[Finding]:
        _, found = _judged(report)
        tools = [] if found is None else found.methods
        alone = [tool.name for tool in tools if tool.n == 1]
        if alone:
            whose = "each tool has" if len(alone) == len(tools) else _have(alone)
            yield Finding(
                "note",
                f"By tool: {whose} one agent, so the effect of the tool cannot be separated from that of the agent. "
                "Train several agents with a tool, or give one agent several.",
            )
        few = [f"{tool.name} has {tool.n}" for tool in tools if 1 < tool.n < FEW]
        if few:
            yield Finding(
                "note",
                f"By tool: fewer than {FEW} agents stand for a tool ({text.listed(few)}): how much agents with it "
                "differ is hardly known, whatever the number of trials.",
            )


def tool_of(config: Mapping[str, Any], agent: str, task: str) -> str | None:
    """What an agent works with on a task, by a run's config: its own tool, else the task's; "custom" where it has no
    name, None where the task has no tools."""
    own = next(a for a in config["agents"] if a["name"] == agent).get("task_options") or {}
    options = {**next(t for t in config["tasks"] if t["name"] == task)["options"], **own}
    tool = options.get("tool")
    return tool if tool is None or isinstance(tool, str) else CUSTOM


def _uses(report: Report) -> list[Use]:
    """In the order of agents."""
    return [use for agent in report.agents for use in _uses_of(report, agent)]


def _uses_of(report: Report, agent: AgentReport) -> Iterable[Use]:
    tools = {cell.task: tool_of(report.config, agent.agent, cell.task) for cell in agent.cells}
    if len(set(tools.values())) == 1 and (only := next(iter(tools.values()))) is not None:
        yield Use(only, agent.agent, agent.overall)
        return
    for cell in agent.cells:
        if (tool := tools[cell.task]) is not None:
            yield Use(tool, agent.agent, cell.summary, cell.task)


def _judged(report: Report) -> tuple[dict[str, list[Use]], Methods | None]:
    """Uses by tool, and the tools against each other; None with fewer than two."""
    by_tool: dict[str, list[Use]] = {}
    for use in _uses(report):
        by_tool.setdefault(use.tool, []).append(use)
    if len(by_tool) < 2:
        return by_tool, None
    scored = any(use.summary.score.mean is not None for own in by_tool.values() for use in own)
    groups = {tool: _members(own, scored) for tool, own in by_tool.items()}
    seed = int(report.config.get("base_seed", 0))
    by, level = ("score" if scored else "success"), report.context.level
    return by_tool, judge_methods(groups, by, level, seed, report.scoring.limits)


def _members(uses: Sequence[Use], scored: bool) -> list[Member]:
    """An agent is one member, with the mean over its tasks with the tool."""
    found: dict[str, list[float | None]] = {}
    for use in uses:
        found.setdefault(use.agent, []).append(use.summary.score.mean if scored else use.summary.success.rate)
    return [
        Member(agent, None if any(value is None for value in values) else float(np.mean(np.array(values, float))))
        for agent, values in found.items()
    ]


def _words(found: Methods, uses: Mapping[str, Sequence[Use]]) -> str:
    measure = "mean score" if found.by == "score" else "success rate"
    level = text.percent(found.level)
    return (
        f"A tool's mean is that of the agents that worked with it, each by its {measure}. {level} intervals are "
        "Student's over agents, of further agents examined on these trials; of a tool with one agent, over its trials. "
        "Letters are those of the best agent in the "
        "ranking of agents: agents that share one do not differ significantly."
    )


def _ranked(report: Report, found: Methods, uses: Mapping[str, Sequence[Use]]) -> list[tuple[str, ...]]:
    letters = {} if report.comparison is None else {
        own.agent: own.letters[report.comparison.by] or text.NONE for own in report.comparison.agents
    }  # fmt: skip
    rows = []
    for number, method in enumerate(found.methods, 1):
        best = _best(method)
        won, n = _successes(uses[method.name])
        interval = _interval(found, method, uses)
        rows.append((
            method.name, str(number) if method.value is not None else text.NONE, str(method.n),
            _value(found, method.value, interval), _span(found, interval), f"{won} of {n}",
            text.NONE if best is None else best.agent, text.NONE if best is None else _value(found, best.value),
            text.NONE if best is None else letters.get(best.agent, text.NONE),
        ))  # fmt: skip
    return rows


def _best(method: Method) -> Member | None:
    known = [member for member in method.members if member.value is not None]
    return max(known, key=lambda member: member.value or 0.0) if known else None


def _interval(found: Methods, method: Method, uses: Mapping[str, Sequence[Use]]) -> Interval | None:
    """Over agents; of one agent with one row, over its trials."""
    own = uses[method.name]
    if method.n > 1 or len(own) != 1:
        return method.interval
    return own[0].summary.score.interval if found.by == "score" else own[0].summary.success.interval


def _successes(uses: Sequence[Use]) -> tuple[int, int]:
    return sum(use.summary.success.successes for use in uses), sum(use.summary.success.n for use in uses)


def _own(report: Report, uses: Mapping[str, Sequence[Use]], tool: str) -> list[tuple[str, ...]]:
    """The agents of a tool, best score first."""

    def order(use: Use) -> float:
        value = use.summary.score.mean if use.summary.score.mean is not None else use.summary.success.rate
        return -np.inf if value is None else value

    rows = []
    for number, use in enumerate(sorted(uses[tool], key=order, reverse=True), 1):
        own = use.summary
        rate = text.NONE if own.success.rate is None else text.percent(own.success.rate)
        ends = "" if own.success.interval is None else f" ({text.percent_range(own.success.interval)})"
        score = text.NONE if own.score.mean is None else text.fixed(own.score.mean, own.score.interval)
        span = "" if own.score.interval is None else f" ({text.span(own.score.interval)})"
        shown = (own.metrics.get(name) for name in ("tip_speed_max_mm_s", "wall_force_max"))
        rows.append((
            use.title, str(number), f"{own.n}", rate + ends, score + span, text.number(own.steps_to_success.mean),
            *(text.NONE if metric is None else text.number(metric.value) for metric in shown),
        ))  # fmt: skip
    return rows


def _pairs(found: Methods) -> list[tuple[str, ...]]:
    """Every two tools; where no test could be made, it says so."""
    counts = {method.name: method.n for method in found.methods}
    rows = []
    for pair in found.pairs:
        told = p_value(pair.p_adjusted) + (" *" if found.different(pair) else "")
        few = min(counts[pair.a], counts[pair.b]) < FEW
        untested = "too few agents for a test" if few else "no agent differs from another"
        difference = _value(found, pair.difference, pair.interval)
        names, members = f"{pair.a} − {pair.b}", f"{counts[pair.a]}, {counts[pair.b]}"
        rows.append((names, members, difference, _span(found, pair.interval), told if pair.test else untested))
    return rows


def _value(found: Methods, value: float | None, interval: Interval | None = None) -> str:
    if value is None:
        return text.NONE
    return text.percent(value) if found.by == "success" else text.fixed(value, interval)


def _span(found: Methods, interval: Interval | None) -> str:
    return text.percent_range(interval) if found.by == "success" else text.span(interval)


def _piped(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return pipes.table(list(header), [[pipes.escape(cell) for cell in row] for row in rows])


def _have(tools: Sequence[str]) -> str:
    return f"{text.listed(list(tools))} {'have' if len(tools) > 1 else 'has'}"


def _keys(report: Report, method: Method, uses: Mapping[str, Sequence[Use]]) -> dict[str, Any]:
    won, n = _successes(uses[method.name])
    best = _best(method)
    return {
        "tool": method.name,
        "n_agents": method.n,
        "value": method.value,
        "interval": method.interval,
        "successes": won,
        "n_trials": n,
        "best_agent": None if best is None else best.agent,
        "agents": [{"agent": member.agent, "value": member.value} for member in method.members],
    }
