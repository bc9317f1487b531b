"""Trials as columns, with their scores."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from proctor.config.models import EvalConfig
from proctor.record.batch import Metrics, TrialBatch
from proctor.record.columns import Trials, read_trials
from proctor.scoring.columns import score_batch
from proctor.scoring.protocol import Scoring


def scored_trials(cfg: EvalConfig, batches: Iterable[TrialBatch], scoring: Scoring) -> Trials:
    """The trials of every agent and task of the config, each scored once."""

    def score(batch: TrialBatch) -> tuple[np.ndarray, Metrics]:
        found = score_batch(scoring, batch)
        return found.total, found.components

    return read_trials([(agent.name, task.name) for agent in cfg.agents for task in cfg.tasks], batches, score)
