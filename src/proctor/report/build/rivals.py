"""What a report knows of its agents against each other: the comparison, score profiles, curves over checkpoints, the
methods that they stand for, and the aggregates over tasks that the config asks for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from proctor import stats
from proctor.config.models import AggregateName, EvalConfig, ReportCfg
from proctor.record.columns import Trials
from proctor.report.build.sample import sample_of
from proctor.report.draw.svg import axis_for
from proctor.report.model import AgentAggregate, AgentProfile, AgentReport, ReportContext, Training
from proctor.scoring import make_scoring
from proctor.stats import LARGE, Aggregate, Estimate, Interval, Profile, Resampling, performance_profile
from proctor.verdict.comparison import MOST_AGENTS, Comparison, judge
from proctor.verdict.estimand import judging_of
from proctor.verdict.methods import Member, Methods, judge_methods
from proctor.verdict.trials import agents_of

THRESHOLDS, PROFILED, PROFILE_RESAMPLES = 61, 10, 1000
CHECKPOINTS = 3
"""Agents that differ in a number only, from which on they are taken for checkpoints of one training."""
AGGREGATES: dict[AggregateName, Aggregate] = {
    "mean": stats.MEAN,
    "iqm": stats.IQM,
    "median": stats.MEDIAN,
    "trial_median": stats.TRIAL_MEDIAN,
}


def compare_agents(trials: Trials, cfg: EvalConfig, context: ReportContext) -> Comparison | None:
    """The agents of a run, paired by seed; None with fewer than two that have scored trials, and with more than are
    compared with each other."""
    agents = agents_of(trials, cfg, [task.name for task in cfg.tasks], context.unfinished)
    if sum(agent.n > 0 for agent in agents) < 2 or len(agents) > MOST_AGENTS:
        return None
    return judge(agents, judging_of(cfg, make_scoring(cfg.scoring, context.base), context.level, bool(context.looks)))


def score_profiles(
    trials: Trials, cfg: EvalConfig, ranked: Sequence[str], context: ReportContext
) -> tuple[AgentProfile, ...]:
    """Of the first agents, on common thresholds; none where scores are all 0 or 1, or missing."""
    samples = {name: sample_of(trials, [(name, task.name) for task in cfg.tasks]) for name in ranked}
    by_agent = {name: [trials["score"][rows] for rows in own.strata] for name, own in samples.items()}
    known = {name: strata for name, strata in by_agent.items() if _whole(strata)}
    pooled = np.concatenate([values for strata in known.values() for values in strata] or [np.zeros(0)])
    if np.isin(pooled, (0.0, 1.0)).all() or np.ptp(pooled) == 0:
        return ()
    axis = axis_for([float(pooled.min()), float(pooled.max())])
    at = np.linspace(axis.low, axis.high, THRESHOLDS)
    chosen = list(known.items())[:PROFILED]
    return tuple(AgentProfile(name, _profile(strata, at, cfg.base_seed, context.level)) for name, strata in chosen)


def _whole(strata: Sequence[np.ndarray]) -> bool:
    pooled = np.concatenate(strata)
    return len(pooled) > 0 and not np.isnan(pooled).any()


def _profile(strata: Sequence[np.ndarray], at: np.ndarray, seed: int, level: float) -> Profile:
    """With a band where that is not thinner than a line."""
    n = sum(map(len, strata))
    if n <= LARGE:
        return performance_profile(strata, at, level, Resampling(PROFILE_RESAMPLES, seed))
    shares = 1 - np.searchsorted(np.sort(np.concatenate(strata)), at, side="right") / n
    return Profile(at, shares, n, None, None)


def trainings(names: Sequence[str]) -> tuple[Training, ...]:
    """Groups of at least three names that differ in one number only (`ppo/ckpt_100`, `ppo/ckpt_200`, ...), in the order
    of that number. A name is in the largest group that has it."""
    groups: dict[tuple[str, str], dict[int, str]] = {}
    for name in names:
        for found in re.finditer(r"\d+", name):
            groups.setdefault((name[: found.start()], name[found.end() :]), {})[int(found[0])] = name
    taken: set[str] = set()
    chosen = []
    for (before, after), members in sorted(groups.items(), key=lambda item: -len(item[1])):
        if len(members) >= CHECKPOINTS and taken.isdisjoint(members.values()):
            taken |= set(members.values())
            steps = sorted(members)
            chosen.append(Training(f"{before}…{after}", tuple(steps), tuple(members[step] for step in steps)))
    return tuple(chosen)


def grouped_agents(
    cfg: EvalConfig, agents: Sequence[AgentReport], context: ReportContext, limits: Interval | None = None
) -> Methods | None:
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
    found = judge_methods(made, "score" if scored else "success", context.level, cfg.base_seed, limits)
    return replace(found, ungrouped=tuple(agent.name for agent in cfg.agents if agent.group is None))


def _member(agent: AgentReport, by_score: bool) -> Member:
    if by_score:
        return Member(agent.agent, agent.overall.score.mean)
    return Member(agent.agent, agent.overall.success.rate, agent.overall.success.bounds)


def aggregate_of(name: AggregateName, cfg: ReportCfg) -> Aggregate:
    """The aggregate that a config means by this name."""
    return stats.optimality_gap(cfg.target) if name == "optimality_gap" else AGGREGATES[name]


def agent_aggregates(
    trials: Trials, cfg: EvalConfig, agents: Sequence[AgentReport], context: ReportContext
) -> tuple[AgentAggregate, ...]:
    """Agent by agent, in their order; none where the config asks for none. Resamples depend on the run's seed alone, so
    an agent's interval does not change when another one joins the run."""
    resampling = Resampling(context.n_resamples, cfg.base_seed, cfg.report.intervals)
    found = []
    for agent in agents:
        own = sample_of(trials, [(agent.agent, task.name) for task in cfg.tasks])
        scores = [trials["score"][rows] for rows in own.strata]
        for name in dict.fromkeys(cfg.report.aggregates):
            made = stats.bootstrap(scores, aggregate_of(name, cfg.report), context.level, resampling)
            as_ranked = name == "mean" and not resampling.tasks_too
            found.append(AgentAggregate(agent.agent, name, _ranking_mean(agent, made) if as_ranked else made))
    return tuple(found)


def _ranking_mean(agent: AgentReport, made: Estimate) -> Estimate:
    """The mean and interval that the ranking shows: a report has one of each."""
    score = agent.overall.score
    return replace(made, value=score.mean, interval=score.interval, reason=None if score.interval else made.reason)
