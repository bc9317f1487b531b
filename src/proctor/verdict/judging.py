"""How agents are judged."""

from __future__ import annotations

from dataclasses import dataclass

from proctor.config.models import EvalConfig
from proctor.scoring import Scoring
from proctor.stats import Interval
from proctor.verdict.estimand import Weights


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
