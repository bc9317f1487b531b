"""Scores of a batch of trials: column by column for the scorings of the package, trial by trial for any other."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from proctor.record.batch import Metrics, TrialBatch, metrics_of, numbers
from proctor.record.episode import Outcome
from proctor.scoring.bulk import bulk_reads, bulk_scores
from proctor.scoring.protocol import Scoring

UNSCORED = np.array([not outcome.scored for outcome in Outcome])
BROKEN = np.array([outcome.broken_by_policy for outcome in Outcome])


@dataclass(frozen=True, eq=False)
class Scores:
    """`total` `(n,)`, NaN where there is none, and components as `Metrics` has metrics."""

    total: np.ndarray
    components: Metrics


def score_batch(scoring: Scoring, batch: TrialBatch) -> Scores:
    """What `scoring.score` says of each trial."""
    reads = bulk_reads(scoring)
    if reads is None:
        return _one_by_one(scoring, batch)
    columns, metrics = reads
    found = {name: numbers(batch[name]) for name in columns}
    found |= {name: _finite(batch.metric(name)) for name in metrics}
    found["broken"] = BROKEN[batch.outcome_codes]
    total, parts = bulk_scores(scoring, found)
    unscored = UNSCORED[batch.outcome_codes]
    components = {name: np.where(unscored, math.nan, values) for name, values in parts.items()}
    named = Metrics(components, [tuple(components)], np.zeros(len(batch), np.int64))
    return Scores(np.where(unscored, math.nan, total), named)


def _one_by_one(scoring: Scoring, batch: TrialBatch) -> Scores:
    scores = [scoring.score(result) for result in batch.results()]
    return Scores(numbers([score.total for score in scores]), metrics_of([dict(score.components) for score in scores]))


def _finite(values: np.ndarray) -> np.ndarray:
    return np.where(np.isfinite(values), values, math.nan)
