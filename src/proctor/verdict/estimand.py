"""What is estimated: how tasks are weighed, what trials that cannot be seen could have been, and how agents are judged.

The estimand of every verdict is a mean over tasks of means over trials. By default tasks count alike, however many
trials each has: the answer is then about the tasks, not about how often each was tried.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from proctor.config.models import EvalConfig
from proctor.scoring import Scoring
from proctor.stats import Interval
from proctor.verdict.trials import TaskTrials

Weights = Literal["tasks", "trials"] | Mapping[str, float]
"""`tasks`: every task counts alike; `trials`: every trial does; or how much each task counts against the others."""
Measure = Literal["success", "score"]
MEASURES: tuple[Measure, ...] = ("success", "score")
RATE = Interval(0.0, 1.0)


def shares_of(tasks: Sequence[str], counts: Sequence[int], weights: Weights) -> list[float]:
    """How much each of these tasks counts; they add up to 1. All 0 where none counts."""
    if weights == "tasks":
        given = [1.0] * len(tasks)
    elif weights == "trials":
        given = [float(count) for count in counts]
    else:
        assert isinstance(weights, Mapping)
        given = [float(weights.get(task, 1.0)) for task in tasks]
    total = sum(given)
    return [weight / total if total > 0 else 0.0 for weight in given]


def described(weights: Weights, paired: bool) -> str:
    """The estimand in a sentence."""
    how = {
        "tasks": "the mean over tasks of their means over trials",
        "trials": "the mean over all trials, whatever their task",
    }.get(weights if isinstance(weights, str) else "", "the weighted mean over tasks of their means over trials")
    over = "on the seeds that both ran" if paired else "on each agent's own seeds"
    return f"The difference of {how}, {over}"


def values_of(trials: TaskTrials, measure: Measure) -> np.ndarray:
    return trials.success.astype(np.float64) if measure == "success" else trials.score


def limits_of(a: TaskTrials, b: TaskTrials, measure: Measure, limits: Interval | None) -> Interval | None:
    """Within what an unseen value would lie: what the scoring says, else what the scores of both show; None where
    nothing does."""
    if measure == "success":
        return RATE
    if limits is not None:
        return limits
    seen = np.concatenate([a.score, b.score])
    seen = seen[np.isfinite(seen)]
    return Interval(float(seen.min()), float(seen.max())) if len(seen) else None


def differences_within(limits: Interval | None) -> Interval | None:
    """Between what differences of values within limits lie; None where there are none."""
    return None if limits is None else Interval(limits.low - limits.high, limits.high - limits.low)


def possible(
    trials: TaskTrials, measure: Measure, limits: Interval, unseen: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Indices of the scored trials and of these unseen ones, and the least and the most that each could be."""
    known = values_of(trials, measure)
    index = np.concatenate([trials.index, unseen])
    low, high = (np.concatenate([known, np.full(len(unseen), end)]) for end in limits)
    return index, low, high


@dataclass(frozen=True)
class JudgeCfg:
    """`level` is that of every interval, `seed` decides resamples and sign flips. `limits`: what scores lie within,
    where the scoring says so. `looked`: the number of trials was raised after results had been seen, so that only tests
    that hold at every look do."""

    level: float = 0.95
    n_resamples: int = 2000
    seed: int = 0
    weights: Weights = "tasks"
    limits: Interval | None = None
    looked: bool = False


def judging_of(cfg: EvalConfig, scoring: Scoring, level: float = 0.95, looked: bool = False) -> JudgeCfg:
    """How the agents of a run are judged, wherever that is: in its report, a comparison or a leaderboard."""
    return JudgeCfg(level, 2000, cfg.base_seed, cfg.report.weights, limits_of_scores(scoring), looked)


def limits_of_scores(scoring: Scoring) -> Interval | None:
    """The scoring's limits, with its floor."""
    if scoring.limits is None:
        return None
    ends = [*scoring.limits, *([] if scoring.floor is None else [scoring.floor])]
    return Interval(min(ends), max(ends))
