"""What a report knows of its agents against each other: the comparison, score profiles, and curves over checkpoints."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from proctor.config.models import EvalConfig
from proctor.record.columns import Trials
from proctor.report.build.sample import sample_of
from proctor.report.draw.svg import axis_for
from proctor.report.model import AgentProfile, ReportContext, Training
from proctor.scoring import make_scoring
from proctor.stats import LARGE, Profile, Resampling, performance_profile
from proctor.verdict.comparison import MOST_AGENTS, Comparison, judge
from proctor.verdict.judging import judging_of
from proctor.verdict.trials import agents_of

THRESHOLDS, PROFILED, PROFILE_RESAMPLES = 61, 10, 1000
CHECKPOINTS = 3
"""Agents that differ in a number only, from which on they are taken for checkpoints of one training."""


def compare_agents(trials: Trials, cfg: EvalConfig, context: ReportContext) -> Comparison | None:
    """The agents of a run, paired by seed; None with fewer than two that have scored trials, and with more than are
    compared with each other."""
    agents = agents_of(trials, cfg, [task.name for task in cfg.tasks])
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
