"""Two agents, measured against each other: tests, intervals and effect sizes from `proctor.stats`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from proctor import stats
from proctor.verdict.comparison.meeting import Meeting, Side, distinct, meet, unpairable
from proctor.verdict.comparison.model import Difference, Measure, Pair, TaskDifference
from proctor.verdict.trials import AgentTrials

LARGE = 20_000
"""Values from which formulas take the place of resampling: the two differ by less than they are read to."""


@dataclass(frozen=True)
class JudgeCfg:
    """How agents are judged: `level` is that of every interval, `seed` decides resamples and sign flips."""

    level: float = 0.95
    n_resamples: int = 2000
    seed: int = 0

    @property
    def resampling(self) -> stats.Resampling:
        return stats.Resampling(self.n_resamples, self.seed)

    @property
    def flips(self) -> stats.Resampling:
        return stats.Resampling(9_999, self.seed)


def compare_pair(a: AgentTrials, b: AgentTrials, judging: JudgeCfg) -> Pair:
    """a minus b on the tasks that both have. Raises ValueError where they have none."""
    tasks = [task for task in a.tasks if task in b.tasks]
    if not tasks:
        raise ValueError(f"{a.name} and {b.name} have no task in common")
    because = unpairable(a, b)
    if because is None:
        return _paired(a, b, [meet(a.tasks[task], b.tasks[task], task) for task in tasks], judging)
    return _unpaired(a, b, because, judging)


def _paired(a: AgentTrials, b: AgentTrials, meetings: Sequence[Meeting], judging: JudgeCfg) -> Pair:
    used = [m for m in meetings if len(m.a.score)]
    left, right = _Pooled([m.a for m in used]), _Pooled([m.b for m in used])
    pairs = stats.discordance(left.success, right.success)
    n_bounds, open_ = sum(m.n_bounds for m in meetings), sum(m.n_unscored for m in meetings)
    low, high = (sum(m.bounds[end] for m in meetings) for end in (0, 1))
    bounds = stats.Interval(low / n_bounds, high / n_bounds) if open_ else None
    if left.binary and right.binary:
        score = _paired_rates(stats.discordance(left.score != 0, right.score != 0), judging, "score")
    else:
        score = _scores(left, right, judging, paired=True)
    return Pair(
        a=a.name,
        b=b.name,
        unpaired_because=None,
        n_a=pairs.n,
        n_b=pairs.n,
        n_copies=sum(m.n_copies for m in meetings),
        n_unscored=open_,
        n_single=sum(m.n_single for m in meetings),
        differences={"success": _paired_rates(pairs, judging, "success", bounds), "score": score},
        tasks=tuple(_task(m) for m in meetings),
        discordance=pairs,
        improvement=_improvement(left, right, judging),
    )


def _unpaired(a: AgentTrials, b: AgentTrials, because: str, judging: JudgeCfg) -> Pair:
    tasks = [t for t in a.tasks if t in b.tasks and a.tasks[t].n and b.tasks[t].n]
    left, right = (_Pooled([distinct(agent.tasks[t]) for t in tasks]) for agent in (a, b))
    rates = _unpaired_rates(left.success, right.success, judging, "success")
    if left.binary and right.binary:
        score = _unpaired_rates(left.score, right.score, judging, "score")
    else:
        score = _scores(left, right, judging, paired=False)
    n_a, n_b = len(left.success), len(right.success)
    return Pair(
        a=a.name,
        b=b.name,
        unpaired_because=because,
        n_a=n_a,
        n_b=n_b,
        n_copies=sum(a.tasks[t].n + b.tasks[t].n for t in tasks) - n_a - n_b,
        n_unscored=a.n_unscored + b.n_unscored,
        n_single=0,
        differences={"success": replace(rates, bounds=_unpaired_bounds(a, b, tasks)), "score": score},
        tasks=tuple(_unpaired_task(t, x, y) for t, x, y in zip(tasks, left.sides, right.sides, strict=True)),
        improvement=_improvement(left, right, judging),
    )


class _Pooled:
    """One agent's side of all tasks, task by task and put together."""

    def __init__(self, sides: Sequence[Side]):
        self.sides = sides
        self.success = np.concatenate([np.empty(0, bool), *(side.success for side in sides)])
        self.score = np.concatenate([np.empty(0), *(side.score for side in sides)])
        self.binary = bool(sides) and bool(np.isin(self.score, (0.0, 1.0)).all())
        """Scores that are all 0 or 1 are rates."""

    @property
    def scores(self) -> list[np.ndarray]:
        return [side.score for side in self.sides]


def _nothing(measure: Measure, reason: str = stats.NoInterval.NO_VALUES.value) -> Difference:
    return Difference(measure, None, None, None, None, "none", reason)


def _paired_rates(
    pairs: stats.Discordance, judging: JudgeCfg, measure: Measure, bounds: stats.Interval | None = None
) -> Difference:
    if not pairs.n:
        return _nothing(measure)
    rate_a, rate_b = (pairs.both + pairs.only_a) / pairs.n, (pairs.both + pairs.only_b) / pairs.n
    effects = _rate_effects(rate_a, rate_b, paired_odds_ratio=stats.paired_odds_ratio(pairs.only_a, pairs.only_b))
    return Difference(
        measure, rate_a, rate_b, (pairs.only_a - pairs.only_b) / pairs.n, stats.tango(pairs, judging.level),
        "Tango's score interval", None, stats.mcnemar(pairs.only_a, pairs.only_b), None, effects, bounds,
    )  # fmt: skip


def _unpaired_rates(left: np.ndarray, right: np.ndarray, judging: JudgeCfg, measure: Measure) -> Difference:
    counts = int(left.sum()), len(left), int(right.sum()), len(right)
    if not len(left) or not len(right):
        return _nothing(measure)
    rate_a, rate_b = counts[0] / counts[1], counts[2] / counts[3]
    return Difference(
        measure, rate_a, rate_b, rate_a - rate_b, stats.newcombe(*counts, judging.level), "Newcombe's interval", None,
        stats.compare_rates(*counts), None, _rate_effects(rate_a, rate_b, odds_ratio=stats.odds_ratio(*counts)),
    )  # fmt: skip


def _rate_effects(rate_a: float, rate_b: float, **ratio: float) -> dict[str, float]:
    return {"risk_difference": rate_a - rate_b, **ratio, "cohens_h": stats.cohens_h(rate_a, rate_b)}


def _unpaired_bounds(a: AgentTrials, b: AgentTrials, tasks: Sequence[str]) -> stats.Interval | None:
    if not (a.n_unscored or b.n_unscored):
        return None
    own = [replace(agent, tasks={task: agent.tasks[task] for task in tasks}) for agent in (a, b)]
    left, right = (stats.rate_bounds(agent.successes, agent.n, agent.n_unscored) for agent in own)
    return None if left is None or right is None else stats.Interval(left.low - right.high, left.high - right.low)


def _scores(left: _Pooled, right: _Pooled, judging: JudgeCfg, *, paired: bool) -> Difference:
    x, y = left.score, right.score
    if reason := _unusable(x, y):
        return _nothing("score", reason)
    if paired:
        test, spread = stats.sign_flip(x - y, judging.flips), stats.student_t(x - y, judging.level)
        name, effect = "paired_d", stats.paired_d(x - y)
    else:
        test, spread = stats.welch(left.scores, right.scores, level=judging.level)
        name, effect = "cliffs_delta", stats.cliffs_delta(x, y)
    if (len(x) if paired else len(x) + len(y)) > LARGE:
        method = "Student's interval of differences" if paired else "Welch's interval"
        interval, why = spread if spread is not None and spread.width > 0 else None, None
    else:
        method = "BCa bootstrap of pairs" if paired else "BCa bootstrap"
        made = stats.bootstrap_difference(
            left.scores, right.scores, level=judging.level, resampling=judging.resampling, paired=paired
        )
        interval, why = made.interval, made.reason
    return Difference(
        "score", float(x.mean()), float(y.mean()), float(x.mean() - y.mean()), interval,
        method if interval else "none", None if interval else (why or stats.NoInterval.EQUAL).value, test,
        effects={} if effect is None else {name: effect},
    )  # fmt: skip


def _unusable(x: np.ndarray, y: np.ndarray) -> str | None:
    if not len(x) or not len(y):
        return stats.NoInterval.NO_VALUES.value
    return stats.NoInterval.MISSING.value if np.isnan(x).any() or np.isnan(y).any() else None


def _improvement(left: _Pooled, right: _Pooled, judging: JudgeCfg) -> stats.Estimate | None:
    if len(left.score) + len(right.score) > LARGE or _unusable(left.score, right.score):
        return None
    return stats.probability_of_improvement(left.scores, right.scores, judging.level, judging.resampling)


def _task(meeting: Meeting) -> TaskDifference:
    x, y = meeting.a, meeting.b
    if not len(x.score):
        return TaskDifference(meeting.task, 0, None, None)
    whole = not (np.isnan(x.score).any() or np.isnan(y.score).any())
    signs = np.sign(x.score - y.score) if whole else x.success.astype(int) - y.success.astype(int)
    wins, losses = int((signs > 0).sum()), int((signs < 0).sum())
    success = float(x.success.mean() - y.success.mean())
    score = float((x.score - y.score).mean()) if whole else None
    return TaskDifference(meeting.task, len(x.score), success, score, wins, losses, len(signs) - wins - losses)


def _unpaired_task(task: str, x: Side, y: Side) -> TaskDifference:
    score = float(x.score.mean() - y.score.mean())
    success = float(x.success.mean() - y.success.mean())
    return TaskDifference(task, len(x.score) + len(y.score), success, score if np.isfinite(score) else None)
