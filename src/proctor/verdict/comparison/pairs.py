"""Two agents, measured against each other: how their trials are put side by side, one estimand, its estimate, its test
and its interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from proctor import stats
from proctor.stats import Interval
from proctor.verdict.comparison.model import Difference, Pair, TaskDifference
from proctor.verdict.comparison.tested import Judged, NoDifference, paired, unpaired
from proctor.verdict.estimand import MEASURES, JudgeCfg, Measure, described, limits_of, possible, shares_of
from proctor.verdict.trials import AgentTrials, TaskTrials


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


@dataclass(frozen=True, eq=False)
class Side:
    """One agent's part of a comparison on one task. `seed`: trials of one seed are not independent."""

    success: np.ndarray
    score: np.ndarray
    seed: np.ndarray

    @property
    def n(self) -> int:
        return len(self.seed)


@dataclass(frozen=True, eq=False)
class Meeting:
    """Two agents on one task. Paired: the i-th values of both sides had the same seed. `n_unscored` trials (pairs,
    where paired) have a side that the infrastructure broke; `n_single` trials have no partner."""

    task: str
    a: Side
    b: Side
    n_unscored: int
    n_single: int


def unpairable(a: AgentTrials, b: AgentTrials) -> str | None:
    """Why the trials of two agents cannot be paired; None where they can."""
    if (told := a.unpaired or b.unpaired) is not None:
        return told
    if not (a.pairs and b.pairs):
        return "trials do not say which of them began alike"
    common = [task for task in a.tasks if task in b.tasks]
    found = shared = fewest = 0
    for task in common:
        x, y = a.tasks[task], b.tasks[task]
        planned_x, planned_y = (np.concatenate([own.index, own.unscored, own.missing]) for own in (x, y))
        shared += len(np.intersect1d(planned_x, planned_y))
        fewest += min(len(planned_x), len(planned_y))
        _, at_x, at_y = np.intersect1d(x.index, y.index, return_indices=True)
        if x.seed is not None and y.seed is not None and (x.seed[at_x] != y.seed[at_y]).any():
            return "seeds differ"
        found += len(at_x)
    if not found:
        return "no seed was run by both"
    return None if 2 * shared >= fewest else f"only {shared:,} of {fewest:,} seeds are those of both"


def side_of(trials: TaskTrials, at: np.ndarray | slice = slice(None)) -> Side:
    return Side(trials.success[at], trials.score[at], trials.seeds[at])


def meet(a: TaskTrials, b: TaskTrials, task: str) -> Meeting:
    """Two agents on one task, their trials paired by index, in the order of seeds."""
    common, at_a, at_b = np.intersect1d(a.index, b.index, assume_unique=True, return_indices=True)
    order = np.argsort(a.seeds[at_a], kind="stable")
    at_a, at_b = at_a[order], at_b[order]
    finished_a, finished_b = (np.concatenate([x.index, x.unscored]) for x in (a, b))
    both = len(np.intersect1d(finished_a, finished_b))
    either = len(np.union1d(finished_a, finished_b))
    return Meeting(task, side_of(a, at_a), side_of(b, at_b), both - len(common), either - both)


def beside(a: TaskTrials, b: TaskTrials, task: str) -> Meeting:
    """Two agents on one task, each with its own trials."""
    return Meeting(task, side_of(a), side_of(b), len(a.unscored) + len(b.unscored), 0)


def bounds_on(
    a: TaskTrials, b: TaskTrials, measure: Measure, limits: Interval | None, paired: bool
) -> tuple[Interval, int] | None:
    """What a minus b could be on a task, whatever its unscored trials would have been, and over how many pairs
    (unpaired: trials of both); None where a task has nothing to say."""
    ends = limits_of(a, b, measure, limits)
    if ends is None:
        return None
    (index_a, low_a, high_a), (index_b, low_b, high_b) = (possible(x, measure, ends, x.unscored) for x in (a, b))
    if paired:
        _, at_a, at_b = np.intersect1d(index_a, index_b, assume_unique=True, return_indices=True)
        low_a, high_a, low_b, high_b = low_a[at_a], high_a[at_a], low_b[at_b], high_b[at_b]
    if not len(low_a) or not len(low_b):
        return None
    n = len(low_a) if paired else len(low_a) + len(low_b)
    return Interval(float(low_a.mean() - high_b.mean()), float(high_a.mean() - low_b.mean())), n
