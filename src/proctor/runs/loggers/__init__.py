"""Where the numbers of a run, or of an evaluation in a training loop, go while it goes on.

A logger takes `log({"eval/tracking/emd": 0.7, ...}, step)`. Each service is a file of its own, and its package is
imported when such a logger is made.
"""

from __future__ import annotations

from proctor.runs.loggers.base import DictLogger, Logger, LoggerOptions, Loggers
from proctor.runs.loggers.csv_file import CsvLogger
from proctor.runs.loggers.mlflow_run import MlflowLogger
from proctor.runs.loggers.tensorboard_file import TensorboardLogger
from proctor.runs.loggers.wandb_run import WandbLogger

__all__ = [
    "CsvLogger",
    "DictLogger",
    "Logger",
    "LoggerOptions",
    "Loggers",
    "MlflowLogger",
    "TensorboardLogger",
    "WandbLogger",
]
