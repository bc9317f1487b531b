"""Two agents, measured against each other: tests, intervals and effect sizes from `proctor.stats`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from proctor.stats import (
    Discordance,
    Estimate,
    Interval,
    NoInterval,
    Resampling,
    bootstrap_difference,
    cliffs_delta,
    cohens_h,
    compare_rates,
    discordance,
    mcnemar,
    newcombe,
    paired_d,
    paired_odds_ratio,
    probability_of_improvement,
    rate_bounds,
    rate_effect,
    sign_flip,
    student_t,
    tango,
    welch,
    wins_and_losses,
)
from proctor.verdict.comparison.meeting import Meeting, Side, distinct, meet, unpairable
from proctor.verdict.comparison.model import Difference, Measure, Pair, TaskDifference
from proctor.verdict.trials import AgentTrials

LARGE = 20_000
"""Values from which formulas take the place of resampling: the two differ by less than they are read to."""


@dataclass(frozen=True)
class Settings:
    """`seed` decides resamples and sign flips."""

    level: float = 0.95
    n_resamples: int = 2000
    seed: int = 0

    @property
    def resampling(self) -> Resampling:
        return Resampling(self.n_resamples, self.seed)

    @property
    def flips(self) -> Resampling:
        return Resampling(9_999, self.seed)


def compare_pair(a: AgentTrials, b: AgentTrials, settings: Settings) -> Pair:
    """a minus b on the tasks that both have. Raises ValueError where they have none."""
    tasks = [task for task in a.tasks if task in b.tasks]
    if not tasks:
        raise ValueError(f"{a.name} and {b.name} have no task in common")
    because = unpairable(a, b)
    if because is None:
        return _paired(a, b, [meet(a.tasks[task], b.tasks[task], task) for task in tasks], settings)
    return _unpaired(a, b, because, settings)


def _paired(a: AgentTrials, b: AgentTrials, meetings: Sequence[Meeting], settings: Settings) -> Pair:
    used = [m for m in meetings if len(m.a.score)]
    left, right = [m.a for m in used], [m.b for m in used]
    pairs = discordance(_outcomes(left), _outcomes(right))
    n_bounds = sum(m.n_bounds for m in meetings)
    open_ = sum(m.n_unscored for m in meetings)
    low, high = (sum(m.bounds[end] for m in meetings) for end in (0, 1))
    bounds = Interval(low / n_bounds, high / n_bounds) if open_ else None
    score = _binary_score(left, right, settings) if _binary([*left, *right]) else _paired_score(left, right, settings)
    return Pair(
        a=a.name,
        b=b.name,
        unpaired_because=None,
        n_a=pairs.n,
        n_b=pairs.n,
        n_copies=sum(m.n_copies for m in meetings),
        n_unscored=open_,
        n_single=sum(m.n_single for m in meetings),
        differences={"success": _paired_rates(pairs, settings, "success", bounds), "score": score},
        tasks=tuple(_task(m) for m in meetings),
        discordance=pairs,
        improvement=_improvement(left, right, settings),
    )


def _paired_rates(
    pairs: Discordance, settings: Settings, measure: Measure = "success", bounds: Interval | None = None
) -> Difference:
    if not pairs.n:
        return Difference(measure, None, None, None, None, "none", NoInterval.NO_VALUES.value)
    rate_a, rate_b = (pairs.both + pairs.only_a) / pairs.n, (pairs.both + pairs.only_b) / pairs.n
    effects = {
        "risk_difference": rate_a - rate_b,
        "paired_odds_ratio": paired_odds_ratio(pairs.only_a, pairs.only_b),
        "cohens_h": cohens_h(rate_a, rate_b),
    }
    return Difference(
        measure, rate_a, rate_b, (pairs.only_a - pairs.only_b) / pairs.n, tango(pairs, settings.level),
        "Tango's score interval", None, mcnemar(pairs.only_a, pairs.only_b), None, effects, bounds,
    )  # fmt: skip


def _binary_score(left: Sequence[Side], right: Sequence[Side], settings: Settings) -> Difference:
    """Scores that are all 0 or 1 are rates."""
    return _paired_rates(discordance(_scores(left) != 0, _scores(right) != 0), settings, "score")


def _paired_score(left: Sequence[Side], right: Sequence[Side], settings: Settings) -> Difference:
    x, y = _scores(left), _scores(right)
    if reason := _unusable(x, y):
        return Difference("score", None, None, None, None, "none", reason)
    apart = x - y
    test = sign_flip(apart, settings.flips)
    d = paired_d(apart)
    found = Difference(
        "score", float(x.mean()), float(y.mean()), float(x.mean() - y.mean()), None, "BCa bootstrap of pairs",
        test=test, effects={} if d is None else {"paired_d": d},
    )  # fmt: skip
    if len(apart) > LARGE:
        return _replaced(found, _spread(student_t(apart, settings.level)), "Student's interval of differences")
    by_task = [s.score for s in left], [s.score for s in right]
    made = bootstrap_difference(*by_task, level=settings.level, resampling=settings.resampling, paired=True)
    return _replaced(found, made.interval, found.method, made.reason)


def _unpaired(a: AgentTrials, b: AgentTrials, because: str, settings: Settings) -> Pair:
    tasks = [t for t in a.tasks if t in b.tasks and a.tasks[t].n and b.tasks[t].n]
    left, right = [distinct(a.tasks[t]) for t in tasks], [distinct(b.tasks[t]) for t in tasks]
    won_a, won_b = _outcomes(left), _outcomes(right)
    counts = int(won_a.sum()), len(won_a), int(won_b.sum()), len(won_b)
    copies = sum(a.tasks[t].n + b.tasks[t].n for t in tasks) - counts[1] - counts[3]
    rates = _unpaired_rates(counts, settings, "success", _unpaired_bounds(a, b, tasks))
    if _binary([*left, *right]):
        x, y = _scores(left), _scores(right)
        score = _unpaired_rates((int(x.sum()), len(x), int(y.sum()), len(y)), settings, "score")
    else:
        score = _unpaired_score(left, right, settings)
    return Pair(
        a=a.name,
        b=b.name,
        unpaired_because=because,
        n_a=counts[1],
        n_b=counts[3],
        n_copies=copies,
        n_unscored=a.n_unscored + b.n_unscored,
        n_single=0,
        differences={"success": rates, "score": score},
        tasks=tuple(_unpaired_task(t, x, y) for t, x, y in zip(tasks, left, right, strict=True)),
        improvement=_improvement(left, right, settings),
    )


def _unpaired_rates(
    counts: tuple[int, int, int, int], settings: Settings, measure: Measure, bounds: Interval | None = None
) -> Difference:
    won_a, n_a, won_b, n_b = counts
    effect = rate_effect(*counts)
    if effect is None:
        return Difference(measure, None, None, None, None, "none", NoInterval.NO_VALUES.value)
    effects = {
        "risk_difference": effect.risk_difference,
        "odds_ratio": effect.odds_ratio,
        "cohens_h": effect.cohens_h,
    }
    return Difference(
        measure, won_a / n_a, won_b / n_b, effect.risk_difference, newcombe(*counts, settings.level),
        "Newcombe's interval", None, compare_rates(*counts), None, effects, bounds,
    )  # fmt: skip


def _unpaired_bounds(a: AgentTrials, b: AgentTrials, tasks: Sequence[str]) -> Interval | None:
    if not (a.n_unscored or b.n_unscored):
        return None
    ends = []
    for agent in (a, b):
        own = [agent.tasks[task] for task in tasks]
        won = int(sum(np.count_nonzero(t.success) for t in own))
        ends.append(rate_bounds(won, sum(t.n for t in own), sum(len(t.unscored) for t in own)))
    left, right = ends
    return None if left is None or right is None else Interval(left.low - right.high, left.high - right.low)


def _unpaired_score(left: Sequence[Side], right: Sequence[Side], settings: Settings) -> Difference:
    x, y = _scores(left), _scores(right)
    if reason := _unusable(x, y):
        return Difference("score", None, None, None, None, "none", reason)
    by_task = [s.score for s in left], [s.score for s in right]
    test, spread = welch(*by_task, level=settings.level)
    delta = cliffs_delta(x, y)
    found = Difference(
        "score", float(x.mean()), float(y.mean()), float(x.mean() - y.mean()), None, "BCa bootstrap", test=test,
        effects={} if delta is None else {"cliffs_delta": delta},
    )  # fmt: skip
    if len(x) + len(y) > LARGE:
        return _replaced(found, _spread(spread), "Welch's interval")
    made = bootstrap_difference(*by_task, level=settings.level, resampling=settings.resampling, paired=False)
    return _replaced(found, made.interval, found.method, made.reason)


def _replaced(
    found: Difference, interval: Interval | None, method: str, reason: NoInterval | None = None
) -> Difference:
    why = None if interval else (reason or NoInterval.EQUAL).value
    return Difference(
        found.measure, found.value_a, found.value_b, found.value, interval, method if interval else "none", why,
        found.test, None, found.effects, None,
    )  # fmt: skip


def _spread(interval: Interval | None) -> Interval | None:
    """None for an interval of width 0."""
    return interval if interval is not None and interval.width > 0 else None


def _unusable(x: np.ndarray, y: np.ndarray) -> str | None:
    if not len(x) or not len(y):
        return NoInterval.NO_VALUES.value
    return NoInterval.MISSING.value if np.isnan(x).any() or np.isnan(y).any() else None


def _binary(sides: Sequence[Side]) -> bool:
    return bool(sides) and all(np.isin(side.score, (0.0, 1.0)).all() for side in sides)


def _outcomes(sides: Sequence[Side]) -> np.ndarray:
    return np.concatenate([side.success for side in sides]) if sides else np.empty(0, dtype=bool)


def _scores(sides: Sequence[Side]) -> np.ndarray:
    return np.concatenate([side.score for side in sides]) if sides else np.empty(0)


def _improvement(left: Sequence[Side], right: Sequence[Side], settings: Settings) -> Estimate | None:
    x, y = [s.score for s in left], [s.score for s in right]
    if not x or sum(map(len, x)) + sum(map(len, y)) > LARGE or _unusable(_scores(left), _scores(right)):
        return None
    return probability_of_improvement(x, y, settings.level, settings.resampling)


def _task(meeting: Meeting) -> TaskDifference:
    x, y = meeting.a, meeting.b
    if not len(x.score):
        return TaskDifference(meeting.task, 0, None, None)
    whole = not (np.isnan(x.score).any() or np.isnan(y.score).any())
    compared = (x.score, y.score) if whole else (x.success, y.success)
    told = wins_and_losses([compared[0]], [compared[1]])[0]
    success = float(x.success.mean() - y.success.mean())
    score = told.difference if whole else None
    return TaskDifference(meeting.task, len(x.score), success, score, told.wins, told.losses, told.ties)


def _unpaired_task(task: str, x: Side, y: Side) -> TaskDifference:
    score = float(x.score.mean() - y.score.mean())
    success = float(x.success.mean() - y.success.mean())
    return TaskDifference(task, len(x.score) + len(y.score), success, score if np.isfinite(score) else None)
