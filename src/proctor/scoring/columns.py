"""Scores of a batch of trials: column by column for the scorings of the package, trial by trial for any other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from proctor.record.batch import TrialBatch, numbers
from proctor.record.episode import Outcome
from proctor.scoring.bulk import COLUMNS, bulk_metrics, bulk_scores
from proctor.scoring.protocol import Scoring

UNSCORED = frozenset(outcome.value for outcome in Outcome if not outcome.scored)
BROKEN = frozenset(outcome.value for outcome in Outcome if outcome.broken_by_policy)


@dataclass(frozen=True, eq=False)
class Scores:
    """`total` `(n,)` and each component `(n,)`, NaN where there is none. `named[i]` are the components that trial i
    has, with a value or without."""

    total: np.ndarray
    components: dict[str, np.ndarray]
    named: Sequence[tuple[str, ...]]


def score_batch(scoring: Scoring, batch: TrialBatch) -> Scores:
    """What `scoring.score` says of each trial."""
    metrics = bulk_metrics(scoring)
    if metrics is None:
        return _one_by_one(scoring, batch)
    outcomes = batch["outcome"]
    found = {name: numbers(batch[name]) for name in COLUMNS}
    found |= {name: _finite(batch.metric(name)) for name in metrics}
    found["broken"] = np.fromiter((outcome in BROKEN for outcome in outcomes), bool, len(batch))
    total, parts = bulk_scores(scoring, found)
    unscored = np.fromiter((outcome in UNSCORED for outcome in outcomes), bool, len(batch))
    components = {name: np.where(unscored, math.nan, values) for name, values in parts.items()}
    return Scores(np.where(unscored, math.nan, total), components, [tuple(components)] * len(batch))


def _one_by_one(scoring: Scoring, batch: TrialBatch) -> Scores:
    scores = [scoring.score(result) for result in batch.results()]
    names = dict.fromkeys(name for score in scores for name in score.components)
    return Scores(
        numbers([score.total for score in scores]),
        {name: numbers([score.components.get(name) for score in scores]) for name in names},
        [tuple(score.components) for score in scores],
    )


def _finite(values: np.ndarray) -> np.ndarray:
    return np.where(np.isfinite(values), values, math.nan)
