"""From columns of trials to estimates: rates, means and metrics, each with its n and its interval; targets of the
config against what agents came to; and the trials of a task that name what they are about (a motion, an instruction)
case by case, worst first."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from proctor.config.models import EvalConfig
from proctor.metrics import MetricInfo
from proctor.record.columns import OUTCOMES, Trials
from proctor.report import model
from proctor.report.build.sample import Sample
from proctor.report.model import AgentReport, Case, CaseTable, TargetResult
from proctor.report.section import CaseLayout
from proctor.scoring import Scoring
from proctor.stats import (
    Interval,
    NoInterval,
    Resampling,
    Units,
    flat,
    mean_estimate,
    rate_bounds,
    rate_interval,
    student_t,
    wilson,
)
from proctor.stats.bootstrap import EXPANSION
from proctor.stats.units import WILSON
from proctor.verdict.comparison.cautions import skewed
from proctor.verdict.estimand import limits_of_scores, shares_of

METHODS: dict[str, Literal["bca_expansion", "wilson"]] = {EXPANSION: "bca_expansion", WILSON: "wilson"}


@dataclass(frozen=True)
class Estimator:
    """What turns columns into estimates. Resamples depend on the run's seed only, so equal agents get equal intervals,
    an agent's interval does not change when another one joins the run, and comparisons have the same ones."""

    cfg: EvalConfig
    context: model.ReportContext
    scoring: Scoring
    metrics: dict[str, MetricInfo]

    def summary(self, own: Sample) -> model.Summary:
        trials, rows = own.trials, own.scored
        clipped, outcomes = trials["clipped_steps"][rows], trials["outcome"][own.kept]
        counts = np.bincount(outcomes, minlength=len(OUTCOMES)).tolist()
        components = dict.fromkeys([*self.scoring.components, *own.names(trials.cell_components)])
        nothing = np.full(trials.n, math.nan)
        return model.Summary(
            planned=sum(self.cfg.trials_of(self.cfg.task(task)) for _, task in own.pairs),
            n_trials=len(own.kept),
            n=len(rows),
            success=self.success(own),
            score=self.score(own),
            components={
                name: self._mean(trials.components.get(name, nothing)[rows], rate=name == "success")
                for name in components
            },
            steps_total=self._mean(trials["steps_total"][rows], lowest=0.0),
            steps_to_success=self._steps_to_success(own),
            wall_time_s=self._mean(trials["wall_time_s"][rows], lowest=0.0),
            metrics={name: self.metric(name, trials.metrics[name][rows]) for name in own.names(trials.cell_metrics)},
            outcomes=dict(sorted((outcome.value, n) for outcome, n in zip(OUTCOMES, counts, strict=True) if n)),
            steps=int(np.nansum(trials["steps_total"][rows])),
            clipped_steps=int(clipped.sum()),
            clipped_trials=int((clipped > 0).sum()),
            retried_trials=int((trials["attempts"][own.kept] > 1).sum()),
            n_repeats=own.n_repeats,
            n_after_stop=own.n_after_stop,
        )

    def success(self, sample: Sample) -> model.RateEstimate:
        """The weighted mean of the rates of the tasks on which something says what success is."""
        own = sample.judged()
        if own is None:
            return model.RateEstimate(0, 0, None, None, None)
        units = self._units(own, own.trials["success"].astype(np.float64))
        return model.RateEstimate(
            successes=int(own.trials["success"][own.scored].sum()),
            n=len(own.scored),
            rate=None if units is None else units.mean,
            interval=None if units is None else rate_interval(units, self.context.level),
            bounds=self._bounds(own) if len(own.kept) > len(own.scored) else None,
        )

    def _steps_to_success(self, own: Sample) -> model.MeanEstimate:
        """Over the successes; nothing over tasks of different length, whose steps say nothing together."""
        trials, rows = own.trials, own.scored
        lengths = {longest(trials["max_steps"][stratum]) for stratum in own.strata if len(stratum)}
        if len(lengths) > 1:
            return model.MeanEstimate(None, 0)
        return self._mean(np.where(trials["success"][rows], trials["steps_to_success"][rows], math.nan), lowest=0.0)

    def _units(self, own: Sample, values: np.ndarray) -> Units | None:
        strata = [rows for rows in own.strata if len(rows)]
        if not strata:
            return None
        shares = shares_of([str(i) for i in range(len(strata))], [len(s) for s in strata], self.cfg.report.weights)
        return Units.of([values[rows] for rows in strata], [own.trials["seed"][rows] for rows in strata], shares)

    def _bounds(self, own: Sample) -> Interval | None:
        """The rate, had every unscored trial failed or succeeded."""
        won = [int(own.trials["success"][rows].sum()) for rows in own.strata]
        finished = [len(own.trials.counted(*pair)) for pair in own.pairs]
        counts = [(w, len(r), f) for w, r, f in zip(won, own.strata, finished, strict=True) if f]
        bounds = [rate_bounds(won, n, all_ - n) for won, n, all_ in counts]
        shares = shares_of([str(i) for i in range(len(counts))], [all_ for *_, all_ in counts], self.cfg.report.weights)
        known = [(share, found) for share, found in zip(shares, bounds, strict=True) if found is not None]
        return Interval(sum(w * b.low for w, b in known), sum(w * b.high for w, b in known)) if known else None

    def score(self, own: Sample) -> model.MeanEstimate:
        """The weighted mean over tasks of their mean scores. One scored trial without a score leaves no mean: a mean of
        the others would be of another sample."""
        scores = own.trials["score"][own.scored]
        missing = int(np.isnan(scores).sum())
        units = None if missing else self._units(own, own.trials["score"])
        if units is None:
            return model.MeanEstimate(None, len(scores) - missing, n_missing=missing)
        resampling = Resampling(self.context.n_resamples, self.cfg.base_seed)
        found = mean_estimate(units, self.context.level, resampling, limits_of_scores(self.scoring))
        return model.MeanEstimate(
            mean=found.value,
            n=found.n,
            std=_std(scores),
            interval=found.interval,
            degenerate=found.reason is NoInterval.EQUAL,
            doubtful=found.method != WILSON and skewed(units.skewness(), units.count),
            method=METHODS.get(found.method, "bootstrap"),
        )

    def _mean(self, values: np.ndarray, lowest: float = -math.inf, rate: bool = False) -> model.MeanEstimate:
        """Mean of the values there are, with Student's interval. `rate`: the values say yes or no, and Wilson's
        interval is given; steps that all happen to be 1 are no rate. No value is below `lowest`, and no end of the
        interval. Where values are all equal there is no interval."""
        known = values[np.isfinite(values)]
        if not known.size:
            return model.MeanEstimate(None, 0, n_missing=values.size)
        binary = rate and bool(np.isin(known, (0.0, 1.0)).all())
        interval = self._rate_interval(known) if binary else self._mean_interval(known)
        return model.MeanEstimate(
            mean=float(known.mean()),
            n=known.size,
            std=_std(known),
            interval=interval and Interval(max(interval.low, lowest), interval.high),
            n_missing=values.size - known.size,
            degenerate=not binary and known.size > 1 and flat(known),
            method="wilson" if binary else "student_t",
        )

    def _mean_interval(self, values: np.ndarray) -> Interval | None:
        """Student's; None where values are all equal, which says nothing of others."""
        return None if flat(values) else student_t(values, self.context.level)

    def _rate_interval(self, values: np.ndarray) -> Interval | None:
        return wilson(int((values != 0).sum()), len(values), self.context.level)

    def metric(self, name: str, values: np.ndarray) -> model.MetricEstimate:
        """By the metric's own reducer; the mean of what is no metric."""
        known = values[np.isfinite(values)]
        if not known.size:
            return model.MetricEstimate(None, 0)
        reducer = self.metrics[name].reducer if name in self.metrics else "mean"
        if reducer in ("mean", "rate"):
            interval = self._rate_interval(known) if reducer == "rate" else self._mean_interval(known)
            return model.MetricEstimate(float(known.mean()), known.size, interval)
        reduce = {"max": np.max, "min": np.min, "median": np.median}[reducer]
        return model.MetricEstimate(float(reduce(known)), known.size)


def longest(max_steps: np.ndarray) -> int | None:
    """The step limit of a task, of the limits of its trials; None where they have none."""
    known = max_steps[np.isfinite(max_steps)]
    return int(known.max()) if known.size else None


def _std(values: np.ndarray) -> float | None:
    return float(np.std(values, ddof=1)) if len(values) > 1 else None


BY_SCORE = CaseLayout("score", ())


def case_tables(samples: Sequence[Sample], estimate: Estimator, layouts: Sequence[CaseLayout]) -> tuple[CaseTable, ...]:
    """A table for each of these (agent, task) whose trials name their cases, in the first layout whose metric they
    have."""
    return tuple(table for own in samples if (table := _table(own, estimate, layouts)).cases)


def _table(own: Sample, estimate: Estimator, layouts: Sequence[CaseLayout]) -> CaseTable:
    (pair,), trials, recorded = own.pairs, own.trials, own.names(own.trials.cell_metrics)
    layout = next((layout for layout in layouts if layout.order in recorded), BY_SCORE)
    shown = [name for name in dict.fromkeys((layout.order, *layout.shown)) if name in recorded]
    badness = -trials["score"] if layout.order == "score" else trials.metrics[layout.order]
    badness = np.where(np.isnan(badness), math.inf, badness)  # a trial without a value is worse than any number
    groups: dict[str, list[int]] = {}
    for row, case in zip(own.scored.tolist(), trials["case"][own.scored].tolist(), strict=True):
        if case is not None:
            groups.setdefault(case, []).append(row)
    cases = [
        Case(
            case=name,
            n=len(rows),
            successes=None if pair[1] in trials.without_success else int(trials["success"][rows].sum()),
            score=estimate.metric("", trials["score"][rows]),
            metrics={metric: estimate.metric(metric, trials.metrics[metric][rows]) for metric in shown},
            npz=_worst_record(trials, rows, badness),
        )
        for name, rows in groups.items()
    ]
    worst_first = sorted(cases, key=lambda case: (-float(np.mean(badness[groups[case.case]])), case.case))
    return CaseTable(*pair, layout.order, tuple(worst_first), layout.shares)


def _worst_record(trials: Trials, rows: Sequence[int], badness: np.ndarray) -> str | None:
    """The record of the worst of the trials that have one; the first among equals."""
    return trials["npz"][max([r for r in rows if trials["npz"][r] is not None] or rows, key=lambda row: badness[row])]


def target_results(
    targets: Mapping[str, float], agents: Sequence[AgentReport], infos: Mapping[str, MetricInfo]
) -> tuple[TargetResult, ...]:
    """A result for every target and agent, agents in their order. A metric that nobody knows counts as one where lower
    is better."""
    return tuple(_result(agent, name, target, infos.get(name)) for name, target in targets.items() for agent in agents)


def _result(agent: AgentReport, name: str, target: float, info: MetricInfo | None) -> TargetResult:
    found = agent.overall.metric(name)
    value, interval, n = found.value, found.interval, found.n
    n_scored = sum(cell.summary.n for cell in agent.cells if name in cell.summary.metrics)
    up = info is not None and info.direction == "up"
    sides = [x >= target if up else x <= target for x in (() if value is None else (value, *(interval or ())))]
    return TargetResult(
        agent=agent.agent,
        metric=name,
        unit="?" if info is None else info.unit,
        direction="up" if up else "down",
        target=target,
        value=value,
        interval=interval,
        n=n,
        n_scored=n_scored,
        met=bool(sides) and sides[0] and n == n_scored,
        clear=interval is not None and len(set(sides)) == 1,
    )
