"""From columns of trials to estimates: rates, means and metrics, each with its n and its interval."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from proctor.config.models import EvalConfig
from proctor.metrics import MetricInfo
from proctor.report import model
from proctor.report.build.accumulate import CellColumns
from proctor.scoring import Scoring
from proctor.stats import Interval, NoInterval, Resampling, bootstrap_mean, rate_bounds, student_t, wilson
from proctor.stats.bootstrap import EXPANSION

BOOTSTRAP_STREAM = 2


@dataclass(frozen=True)
class Estimator:
    """What turns columns into estimates. The bootstrap's generator depends on seed and tasks only, so equal
    agents get equal intervals, and an agent's interval does not change when another one joins the run."""

    cfg: EvalConfig
    context: model.ReportContext
    scoring: Scoring
    metrics: dict[str, MetricInfo]

    def summary(self, cells: Sequence[CellColumns]) -> model.Summary:
        names = list(dict.fromkeys(name for cell in cells for name in sorted(cell.metrics)))
        return model.Summary(
            planned=sum(self.cfg.trials_of(self.cfg.task(cell.task)) for cell in cells),
            n_trials=sum(cell.n_trials for cell in cells),
            n=sum(cell.n for cell in cells),
            success=self.success(cells),
            score=self.score(cells),
            components={name: self._mean(_pool(cells, "components", name)) for name in self._components(cells)},
            steps_total=_not_below_zero(self._mean(_pool(cells, "steps_total"))),
            steps_to_success=_not_below_zero(self._mean(_pool(cells, "steps_to_success"))),
            wall_time_s=_not_below_zero(self._mean(_pool(cells, "wall_time_s"))),
            metrics={name: self.metric(name, _pool(cells, "metrics", name)) for name in names},
            outcomes=dict(sorted(sum((cell.outcomes for cell in cells), Counter()).items())),
            clipped_steps=sum(cell.clipped_steps for cell in cells),
            clipped_trials=sum(cell.clipped_trials for cell in cells),
            retried_trials=sum(cell.retried_trials for cell in cells),
            n_recorded=sum(len(cell.traces) for cell in cells),
            n_distinct=sum(len(np.unique(np.asarray(cell.traces))) for cell in cells),
            n_after_stop=sum(cell.after_stop for cell in cells),
        )

    def success(self, cells: Sequence[CellColumns]) -> model.RateEstimate:
        successes, n = sum(cell.successes for cell in cells), sum(cell.n for cell in cells)
        unscored = sum(cell.n_trials for cell in cells) - n
        return model.RateEstimate(
            successes=successes,
            n=n,
            rate=successes / n if n else None,
            interval=wilson(successes, n, self.context.level),
            bounds=rate_bounds(successes, n, unscored) if unscored else None,
        )

    def score(self, cells: Sequence[CellColumns]) -> model.MeanEstimate:
        """Bootstrap, stratified by task; Wilson's interval where every score is 0 or every score is 1, of which a
        bootstrap knows nothing. One scored trial without a score leaves no mean: a mean of the others would be of
        another sample."""
        strata = [np.asarray(cell.score) for cell in cells]
        seed = int(self._rng([cell.task for cell in cells]).integers(1 << 62))
        found = bootstrap_mean(strata, self.context.level, Resampling(self.context.n_resamples, seed))
        degenerate = found.reason is NoInterval.EQUAL
        if degenerate and found.value in (0.0, 1.0):
            return self._mean(np.concatenate(strata))
        return model.MeanEstimate(
            mean=found.value,
            n=found.n,
            std=_std(np.concatenate(strata)) if found.value is not None else None,
            interval=found.interval,
            n_missing=found.n_missing,
            degenerate=degenerate,
            method="bca_expansion" if found.method == EXPANSION else "bootstrap",
        )

    def _components(self, cells: Sequence[CellColumns]) -> list[str]:
        return list(dict.fromkeys([*self.scoring.components, *(n for c in cells for n in sorted(c.components))]))

    def _rng(self, tasks: Sequence[str]) -> np.random.Generator:
        words = hashlib.blake2b("\0".join(tasks).encode(), digest_size=8).digest()
        key = (BOOTSTRAP_STREAM, int.from_bytes(words[:4], "big"), int.from_bytes(words[4:], "big"))
        return np.random.Generator(np.random.PCG64(np.random.SeedSequence(self.cfg.base_seed, spawn_key=key)))

    def _mean(self, values: np.ndarray) -> model.MeanEstimate:
        """Mean of the values there are, with Student's interval; with Wilson's where all are 0 or 1."""
        known = values[np.isfinite(values)]
        if not known.size:
            return model.MeanEstimate(None, 0, n_missing=values.size)
        binary = bool(np.isin(known, (0.0, 1.0)).all())
        return model.MeanEstimate(
            mean=float(known.mean()),
            n=known.size,
            std=_std(known),
            interval=self._rate_interval(known) if binary else student_t(known, self.context.level),
            n_missing=values.size - known.size,
            degenerate=bool(not binary and known.size > 1 and np.ptp(known) == 0),
            method="wilson" if binary else "student_t",
        )

    def _rate_interval(self, values: np.ndarray) -> Interval | None:
        return wilson(int((values != 0).sum()), len(values), self.context.level)

    def metric(self, name: str, values: np.ndarray) -> model.MetricEstimate:
        """By the metric's own reducer; the mean of what is no metric."""
        known = values[np.isfinite(values)]
        if not known.size:
            return model.MetricEstimate(None, 0)
        reducer = self.metrics[name].reducer if name in self.metrics else "mean"
        if reducer in ("mean", "rate"):
            interval = self._rate_interval(known) if reducer == "rate" else student_t(known, self.context.level)
            return model.MetricEstimate(float(known.mean()), known.size, interval)
        reduce = {"max": np.max, "min": np.min, "median": np.median}[reducer]
        return model.MetricEstimate(float(reduce(known)), known.size)


def _not_below_zero(estimate: model.MeanEstimate) -> model.MeanEstimate:
    """For what is counted or timed: Student's interval of a few values may reach below zero, the mean cannot."""
    if estimate.interval is None or estimate.interval.low >= 0:
        return estimate
    return replace(estimate, interval=Interval(0.0, estimate.interval.high))


def _pool(cells: Sequence[CellColumns], group: str, name: str | None = None) -> np.ndarray:
    """One column over cells, NaN where a cell does not have it."""
    parts = []
    for cell in cells:
        column = getattr(cell, group) if name is None else getattr(cell, group).get(name)
        parts.append(np.full(cell.n, math.nan) if column is None else np.asarray(column))
    return np.concatenate(parts)


def _std(values: np.ndarray) -> float | None:
    return float(np.std(values, ddof=1)) if len(values) > 1 else None
