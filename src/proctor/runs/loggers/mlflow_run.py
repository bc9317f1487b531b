"""Numbers to an MLflow run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Self

from proctor.errors import optional
from proctor.runs.loggers.base import Logger, LoggerOptions


class MlflowOptions(LoggerOptions):
    """Which MLflow run takes the numbers; None: the active one, or a new one."""

    run_id: str | None = None


class MlflowLogger(Logger):
    """Metrics of an MLflow run.

    Logs to the run `run_id`, or to the active one, which MLflow starts where there is none. MLflow allows no `#` in
    names: `emd#std` becomes `emd.std`. The run stays open when the logger is closed."""

    Options: ClassVar[type[LoggerOptions]] = MlflowOptions

    def __init__(self, run_id: str | None = None):
        self._mlflow = optional("mlflow", "MlflowLogger", "mlflow")
        self.run_id = run_id

    @classmethod
    def for_run(cls, options: MlflowOptions, folder: Path) -> Self:
        return cls(options.run_id)

    def log(self, values: Mapping[str, float], step: int) -> None:
        renamed = {key.replace("#", "."): float(value) for key, value in values.items()}
        self._mlflow.log_metrics(renamed, step=step, run_id=self.run_id)
