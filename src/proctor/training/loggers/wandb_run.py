"""Numbers to a Weights & Biases run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proctor.errors import InputError, MissingExtra


class WandbLogger:
    """Logs to `run`, or to the run that the training script has started. The run stays the script's: `close` leaves it
    open. Steps must not go back: the service drops what comes with an earlier step."""

    def __init__(self, run: Any = None):
        try:
            import wandb  # pyright: ignore[reportMissingImports]
        except ModuleNotFoundError:
            raise MissingExtra("WandbLogger", "wandb", "wandb") from None
        self.run = wandb.run if run is None else run
        if self.run is None:
            raise InputError("WandbLogger found no run; call wandb.init() first, or give it one: WandbLogger(run)")

    def log(self, values: Mapping[str, float], step: int) -> None:
        self.run.log(dict(values), step=step)

    def close(self) -> None:
        """The run belongs to the training script."""
