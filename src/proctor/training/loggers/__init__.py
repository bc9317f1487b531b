"""Where the numbers of an evaluation go. A logger takes `log({"eval/tracking/emd": 0.7, ...}, step)`.

Each service is a file of its own, and its package is imported when such a logger is made.
"""

from __future__ import annotations

from proctor.training.loggers.base import DictLogger, Logger, Loggers
from proctor.training.loggers.csv_file import CsvLogger
from proctor.training.loggers.mlflow_run import MlflowLogger
from proctor.training.loggers.tensorboard_file import TensorboardLogger
from proctor.training.loggers.wandb_run import WandbLogger

__all__ = ["CsvLogger", "DictLogger", "Logger", "Loggers", "MlflowLogger", "TensorboardLogger", "WandbLogger"]
