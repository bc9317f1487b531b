"""Numbers to an MLflow run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proctor.errors import MissingExtra


class MlflowLogger:
    """Logs to the run `run_id`, or to the active one, which MLflow starts where there is none. MLflow allows no `#` in
    names: `emd#std` becomes `emd.std`. The run stays open when the logger is closed."""

    def __init__(self, run_id: str | None = None):
        try:
            import mlflow  # pyright: ignore[reportMissingImports]
        except ModuleNotFoundError:
            raise MissingExtra("MlflowLogger", "mlflow", "mlflow") from None
        self._mlflow: Any = mlflow
        self.run_id = run_id

    def log(self, values: Mapping[str, float], step: int) -> None:
        renamed = {key.replace("#", "."): float(value) for key, value in values.items()}
        self._mlflow.log_metrics(renamed, step=step, run_id=self.run_id)

    def close(self) -> None:
        """The run belongs to the training script."""
