"""Two agents, measured against each other: one estimand, its estimate, its test and its interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from proctor import stats
from proctor.verdict.comparison.meeting import Meeting, Side, beside, bounds_on, meet, unpairable
from proctor.verdict.comparison.model import Difference, Pair, TaskDifference
from proctor.verdict.comparison.tested import Judged, NoDifference, paired, unpaired
from proctor.verdict.estimand import MEASURES, Measure, described, shares_of
from proctor.verdict.judging import JudgeCfg
from proctor.verdict.trials import AgentTrials


def compare_pair(a: AgentTrials, b: AgentTrials, judging: JudgeCfg) -> Pair:
    """a minus b on the tasks that both have. Raises ValueError where they have none."""
    tasks = [task for task in a.tasks if task in b.tasks]
    if not tasks:
        raise ValueError(f"{a.name} and {b.name} have no task in common")
    because = unpairable(a, b)
    put = meet if because is None else beside
    meetings = [put(a.tasks[task], b.tasks[task], task) for task in tasks]
    used = [m for m in meetings if m.a.n and m.b.n]
    counts = [m.a.n if because is None else m.a.n + m.b.n for m in used]
    shares = shares_of([m.task for m in used], counts, judging.weights)
    used, shares = [m for m, w in zip(used, shares, strict=True) if w > 0], [w for w in shares if w > 0]
    differences: dict[Measure, Difference] = {
        measure: _difference(used, shares, measure, judging, because is None) for measure in MEASURES
    }
    bounded: dict[Measure, Difference] = {
        measure: replace(own, bounds=_bounds(a, b, tasks, measure, judging, because is None))
        for measure, own in differences.items()
    }
    outcomes = [stats.discordance(m.a.success, m.b.success) for m in used] if because is None else []
    return Pair(
        a=a.name,
        b=b.name,
        unpaired_because=because,
        n_a=sum(m.a.n for m in used),
        n_b=sum(m.b.n for m in used),
        n_unscored=sum(m.n_unscored for m in meetings),
        n_single=sum(m.n_single for m in meetings),
        differences=bounded,
        tasks=tuple(_task(m, w, because is None) for m, w in zip(used, shares, strict=True)),
        estimand=described(judging.weights, because is None),
        discordance=stats.Discordance(*map(sum, zip(*outcomes, strict=True))) if outcomes else None,
        improvement=_improvement(used, judging),
    )


def _difference(
    used: Sequence[Meeting], shares: Sequence[float], measure: Measure, judging: JudgeCfg, in_pairs: bool
) -> Difference:
    values = [(_values(m.a, measure), _values(m.b, measure)) for m in used]
    if not values:
        return _nothing(measure, NoDifference(stats.NoInterval.NO_VALUES.value))
    if any(np.isnan(x).any() or np.isnan(y).any() for x, y in values):
        return _nothing(measure, NoDifference(stats.NoInterval.MISSING.value))
    seeds = [(m.a.seed, m.b.seed) for m in used]
    if measure == "score" and all((m.a.score == m.a.success).all() and (m.b.score == m.b.success).all() for m in used):
        return replace(_difference(used, shares, "success", judging, in_pairs), measure="score")
    rule = Judged(judging.level, judging.n_resamples, judging.seed, judging.looked, judging.limits)
    return (paired if in_pairs else unpaired)(measure, values, seeds, shares, rule)


def _nothing(measure: Measure, because: NoDifference) -> Difference:
    return Difference(measure, None, None, None, None, "none", because.reason, None, because.reason)


def _values(side: Side, measure: Measure) -> np.ndarray:
    return side.success.astype(np.float64) if measure == "success" else side.score


def _bounds(
    a: AgentTrials, b: AgentTrials, tasks: Sequence[str], measure: Measure, judging: JudgeCfg, in_pairs: bool
) -> stats.Interval | None:
    """What the difference could be over all finished trials; None where every one of them is scored, or no score is
    known."""
    if not any(len(agent.tasks[task].unscored) for agent in (a, b) for task in tasks):
        return None
    found = [
        (task, own)
        for task in tasks
        if (own := bounds_on(a.tasks[task], b.tasks[task], measure, judging.limits, in_pairs)) is not None
    ]
    shares = shares_of([task for task, _ in found], [n for _, (_, n) in found], judging.weights)
    if not found or not all(np.isfinite(own).all() for _, (own, _) in found):
        return None
    ends = [sum(w * own[end] for w, (_, (own, _)) in zip(shares, found, strict=True)) for end in (0, 1)]
    return stats.Interval(*ends)


def _improvement(used: Sequence[Meeting], judging: JudgeCfg) -> stats.Estimate | None:
    left, right = [m.a.score for m in used], [m.b.score for m in used]
    n = sum(map(len, left)) + sum(map(len, right))
    if not used or n > stats.LARGE or any(np.isnan(values).any() for values in (*left, *right)):
        return None
    resampling = stats.Resampling(judging.n_resamples, judging.seed)
    return stats.probability_of_improvement(left, right, judging.level, resampling)


def _task(meeting: Meeting, share: float, in_pairs: bool) -> TaskDifference:
    x, y = meeting.a, meeting.b
    success, score = float(x.success.mean() - y.success.mean()), float(x.score.mean() - y.score.mean())
    whole = bool(np.isfinite(score))
    found = TaskDifference(meeting.task, x.n if in_pairs else x.n + y.n, share, success, score if whole else None)
    if not in_pairs:
        return found
    signs = np.sign(x.score - y.score) if whole else x.success.astype(int) - y.success.astype(int)
    wins, losses = int((signs > 0).sum()), int((signs < 0).sum())
    return replace(found, wins=wins, losses=losses, ties=len(signs) - wins - losses)
