"""The methods of a run, from the means that its ranking shows of their agents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from proctor.config.models import EvalConfig
from proctor.report.model import AgentReport, ReportContext
from proctor.verdict.methods import Member, Methods, judge_methods


def grouped_agents(cfg: EvalConfig, agents: Sequence[AgentReport], context: ReportContext) -> Methods | None:
    """The groups of the config as methods, by score, by success where no agent of a group has a score; None without a
    group. Members are in the order of the config."""
    known = {agent.agent: agent for agent in agents}
    groups: dict[str, list[AgentReport]] = {}
    for agent in cfg.agents:
        if agent.group is not None:
            groups.setdefault(agent.group, []).append(known[agent.name])
    if not groups:
        return None
    scored = any(agent.overall.score.mean is not None for members in groups.values() for agent in members)
    made = {name: [_member(agent, scored) for agent in members] for name, members in groups.items()}
    found = judge_methods(made, "score" if scored else "success", context.level, cfg.base_seed)
    return replace(found, ungrouped=tuple(agent.name for agent in cfg.agents if agent.group is None))


def _member(agent: AgentReport, by_score: bool) -> Member:
    if by_score:
        return Member(agent.agent, agent.overall.score.mean)
    return Member(agent.agent, agent.overall.success.rate, agent.overall.success.bounds)
