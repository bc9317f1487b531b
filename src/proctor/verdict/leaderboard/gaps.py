"""Which agents differ significantly: weighted differences pair by pair, on equal seeds where there are such."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from proctor.stats import NoInterval, bootstrap, bootstrap_difference, holm, letters, sign_flip, welch
from proctor.verdict.comparison import AgentTrials, JudgeCfg
from proctor.verdict.comparison.meeting import distinct, meet, unpairable
from proctor.verdict.leaderboard.means import Weighed, weigh
from proctor.verdict.leaderboard.model import Gap

EXACT = "every task has a single different episode, which every trial of it repeated: the difference is exact"
ONCE = "a task was tried once, which tells nothing of its spread"
SINGLE = "a task has a single different episode of one agent, which tells nothing of its spread"


@dataclass(frozen=True, eq=False)
class Standings:
    """Gaps between the agents, best first; ranks and letters by agent."""

    gaps: tuple[Gap, ...]
    ranks: Mapping[str, int]
    letters: Mapping[str, str]


def stand(agents: Sequence[AgentTrials], shares: Mapping[str, float], judging: JudgeCfg) -> Standings:
    """Every pair of agents, which come best first and all have a score. Two differ significantly where Holm's test
    over all pairs says so, or where the difference is exact; a rank counts those that are shown to be better."""
    pairs = [(a, b) for i, a in enumerate(agents) for b in agents[i + 1 :]]
    gaps = _judged([_gap(a, b, shares, judging) for a, b in pairs], judging.level)
    better = [gap.b for gap in gaps if gap.apart]
    names = [agent.name for agent in agents]
    shared = letters(names, [(gap.a, gap.b) for gap in gaps if gap.apart]) if len(names) > 1 else {}
    return Standings(tuple(gaps), {name: 1 + better.count(name) for name in names}, shared)


def _judged(gaps: Sequence[Gap], level: float) -> list[Gap]:
    tested = [gap for gap in gaps if gap.p is not None]
    adjusted = iter(holm([gap.p for gap in tested if gap.p is not None]))
    found = [gap if gap.p is None else replace(gap, p=next(adjusted)) for gap in gaps]
    return [replace(gap, apart=gap.apart or (gap.p is not None and gap.p <= 1 - level + 1e-12)) for gap in found]


def _gap(a: AgentTrials, b: AgentTrials, shares: Mapping[str, float], judging: JudgeCfg) -> Gap:
    if unpairable(a, b) is not None:
        return _independent(a, b, shares, judging)
    meetings = {task: meet(a.tasks[task], b.tasks[task], task) for task in shares}
    weighed = weigh({task: m.a.score - m.b.score for task, m in meetings.items()}, shares)
    found = Gap(
        a.name, b.name, weighed.value, None, None, None, False, sum(len(m.a.score) for m in meetings.values()), True
    )
    if weighed.value is None:
        return replace(found, reason=f"no pair with two scores on {', '.join(weighed.missing)}")
    if any(meetings[task].n_all == 1 for task in weighed.fixed):
        return replace(found, reason=ONCE)
    if not weighed.strata:
        return replace(found, reason=EXACT, apart=weighed.value != 0)
    return _tested(found, weighed, judging)


def _tested(gap: Gap, weighed: Weighed, judging: JudgeCfg) -> Gap:
    test = sign_flip(np.concatenate(weighed.strata), judging.flips)
    spread = bootstrap(weighed.strata, level=judging.level, resampling=judging.resampling)
    reason = None if spread.reason is None else spread.reason.value
    if spread.reason is NoInterval.EQUAL and weighed.value == 0:
        reason = "the episodes of both pay the same"
    return replace(gap, interval=spread.interval, p=test.p_value, reason=reason)


def _independent(a: AgentTrials, b: AgentTrials, shares: Mapping[str, float], judging: JudgeCfg) -> Gap:
    """Trials without pairs: those of imported outcomes that have no seeds."""
    sides = [{task: distinct(agent.tasks[task]).score for task in shares} for agent in (a, b)]
    left, right = (weigh(side, shares) for side in sides)
    n = sum(len(values) for side in sides for values in side.values())
    found = Gap(a.name, b.name, None, None, None, None, False, n, False)
    if left.value is None or right.value is None:
        return replace(found, reason=f"no score on {', '.join({*left.missing, *right.missing})}")
    found = replace(found, value=left.value - right.value)
    if left.fixed or right.fixed:
        return replace(found, reason=SINGLE)
    test, _ = welch(left.strata, right.strata, judging.level)
    spread = bootstrap_difference(
        left.strata, right.strata, level=judging.level, resampling=judging.resampling, paired=False
    )
    reason = None if spread.reason is None else spread.reason.value
    return replace(found, interval=spread.interval, p=test.p_value, reason=reason)
