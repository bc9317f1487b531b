"""Proctor inside somebody else's training loop: evaluate every so many steps, on the loop's own environment or on
one of Proctor's, without changing anything of training, and feed difficulty back into the curriculum."""

from __future__ import annotations

from proctor.runs.loggers import (
    CsvLogger,
    DictLogger,
    Logger,
    Loggers,
    MlflowLogger,
    TensorboardLogger,
    WandbLogger,
)
from proctor.training.callback import Advice, EvaluationCallback, Practice
from proctor.training.keeping import undisturbed
from proctor.training.options import TrackingEvaluationCfg
from proctor.training.schedule import EveryNSteps
from proctor.training.tracking import TrackingEvaluation

__all__ = [
    "Advice",
    "CsvLogger",
    "DictLogger",
    "EvaluationCallback",
    "EveryNSteps",
    "Logger",
    "Loggers",
    "MlflowLogger",
    "Practice",
    "TensorboardLogger",
    "TrackingEvaluation",
    "TrackingEvaluationCfg",
    "WandbLogger",
    "undisturbed",
]
