"""Scorings written on columns, and the scores of many trials at once.

A scoring that is written on columns says everything about a formula in one place: arrays with one entry per trial, NaN
where a trial has no value. One trial is scored as columns of length one, so both ways agree to the last bit;
exponentials are those of `math`, which do not depend on the length of an array.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from proctor.config.models import EvalConfig
from proctor.record.batch import Metrics, TrialBatch, metrics_of, numbers
from proctor.record.columns import BROKEN, SCORED, Trials, read_trials
from proctor.scoring.protocol import Score, Scoring
from proctor_host.result import TrialResult


@dataclass(frozen=True, eq=False)
class Scores:
    """`total` `(n,)`, NaN where there is none, and components as `Metrics` has metrics."""

    total: np.ndarray
    components: Metrics

    @classmethod
    def of(cls, total: np.ndarray, parts: Mapping[str, np.ndarray]) -> Scores:
        """Scores whose trials all have the same components."""
        return cls(total, Metrics(dict(parts), [tuple(parts)], np.zeros(len(total), np.int64)))


class TrialColumns:
    """What a scoring reads of n trials that ran to an end: `rows` of a batch."""

    def __init__(self, batch: TrialBatch, rows: np.ndarray):
        self._batch, self._rows = batch, rows

    def __len__(self) -> int:
        return len(self._rows)

    def number(self, name: str) -> np.ndarray:
        """A field of `TrialResult` as floats, NaN for None; flags are 0 and 1."""
        return numbers(self._batch[name])[self._rows]

    def tasks(self) -> np.ndarray:
        """The name of each trial's task."""
        return np.array(self._batch["task"], dtype=object)[self._rows]

    def metric(self, name: str) -> np.ndarray:
        """A metric, NaN where a trial has no finite value for it."""
        values = self._batch.metric(name)[self._rows]
        return np.where(np.isfinite(values), values, math.nan)

    def names(self) -> list[str]:
        """Every metric that some trial has, with a value or without."""
        metrics = self._batch.metrics
        return list(dict.fromkeys(name for named in metrics.named for name in named))

    def recorded(self, name: str) -> np.ndarray:
        """Whether each trial has a metric of this name at all, with a value or without."""
        metrics = self._batch.metrics
        return np.array([name in named for named in metrics.named], bool)[metrics.which[self._rows]]


class ColumnScoring(Scoring):
    """A scoring that rates many trials in one call. `fields` are what it reads of `TrialResult`, `metrics` the metrics
    it reads (None: which ones depends on the trials), so that no more need be fetched."""

    fields: tuple[str, ...] = ()
    metrics: tuple[str, ...] | None = ()

    @abc.abstractmethod
    def rate_columns(self, trials: TrialColumns) -> Scores:
        """The scores of trials that ran to an end."""

    def rate(self, result: TrialResult) -> Score:
        scores = self.rate_columns(TrialColumns(TrialBatch.of([result]), np.zeros(1, np.int64)))
        parts = scores.components
        named = parts.named[int(parts.which[0])]
        return Score(float(scores.total[0]), {name: float(parts.columns[name][0]) for name in named})


def reads_of(scoring: Scoring) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """The fields and metrics that `score_batch` reads beside the outcome; None where it may read any."""
    if not isinstance(scoring, ColumnScoring) or scoring.metrics is None:
        return None
    return scoring.fields, scoring.metrics


def score_batch(scoring: Scoring, batch: TrialBatch) -> Scores:
    """What `scoring.score` says of each trial."""
    if not isinstance(scoring, ColumnScoring):
        scores = [scoring.score(result) for result in batch.results()]
        components = metrics_of([dict(score.components) for score in scores])
        return Scores(numbers([score.total for score in scores]), components)
    broken = BROKEN[batch.outcome_codes]
    ran = np.flatnonzero(SCORED[batch.outcome_codes] & ~broken)
    rated = scoring.rate_columns(TrialColumns(batch, ran))
    total = np.where(broken, math.nan if scoring.floor is None else scoring.floor, math.nan)
    total[ran] = _finite(rated.total)
    columns = {}
    for name in dict.fromkeys((*scoring.components, *rated.components.columns)):
        failed = name == "success" and name in scoring.components
        columns[name] = np.where(broken & failed, 0.0, math.nan)
        if name in rated.components.columns:
            columns[name][ran] = _finite(rated.components.columns[name])
    which = np.zeros(len(batch), np.int64)
    which[ran] = 1 + rated.components.which
    return Scores(total, Metrics(columns, [scoring.components, *rated.components.named], which))


def scored_trials(
    cfg: EvalConfig,
    batches: Iterable[TrialBatch],
    scoring: Scoring,
    initial_states: Mapping[str, int] | None = None,
) -> Trials:
    """The trials of every agent and task of the config, each scored once. `initial_states`: of the tasks of which it is
    known how many they have."""

    def score(batch: TrialBatch) -> tuple[np.ndarray, Metrics]:
        found = score_batch(scoring, batch)
        return found.total, found.components

    pairs = [(agent.name, task.name) for agent in cfg.agents for task in cfg.tasks]
    return read_trials(pairs, batches, score, initial_states)


def weighted_sum(parts: Mapping[str, np.ndarray], weights: Mapping[str, float], *, normalize: bool) -> np.ndarray:
    """The weighted sum of the parts that each trial has, divided by their weights if `normalize`; NaN where nothing
    with a weight is there."""
    length = len(next(iter(parts.values())))
    total, norm = np.zeros(length), np.zeros(length)
    for name, values in parts.items():
        known = ~np.isnan(values)
        total += np.where(known, weights[name] * values, 0.0)
        norm += np.where(known, weights[name], 0.0)
    divisor = norm if normalize else np.ones(length)
    return np.divide(total, divisor, out=np.full(length, math.nan), where=norm > 0)


def decay(values: np.ndarray, scale: float) -> np.ndarray:
    """exp(-value / scale), NaN for NaN; a scale of 0 or less gives 1 for every known value."""
    if scale <= 0:
        return np.where(np.isnan(values), math.nan, 1.0)
    if len(values) and (values == values[0]).all():
        return np.full(len(values), math.exp(-values[0] / scale))
    return np.array([math.exp(value) for value in (-values / scale).tolist()])


def _finite(values: np.ndarray) -> np.ndarray:
    return np.where(np.isfinite(values), values, math.nan)
