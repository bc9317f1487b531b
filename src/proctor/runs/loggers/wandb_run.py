"""Numbers to a Weights & Biases run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

from proctor.errors import InputError, optional
from proctor.runs.loggers.base import Logger, LoggerOptions


class WandbOptions(LoggerOptions):
    """The project of the run that is started where none is active; None: the service's default."""

    project: str | None = None


class WandbLogger(Logger):
    """History of a Weights & Biases run.

    Logs to `run`, or to the run that the training script has started, which stays open when the logger is closed. Steps
    must not go back: the service drops what comes with an earlier step."""

    Options: ClassVar[type[LoggerOptions]] = WandbOptions

    def __init__(self, run: Any = None):
        self.run = _wandb().run if run is None else run
        if self.run is None:
            raise InputError("WandbLogger found no run; call wandb.init() first, or give it one: WandbLogger(run)")
        self._own = False

    @classmethod
    def for_run(cls, options: WandbOptions, folder: Path) -> Self:
        """On the active run, or on one that is started with the run folder's name and ends with this logger."""
        wandb = _wandb()
        active = wandb.run
        logger = cls(active or wandb.init(project=options.project, name=folder.name, dir=str(folder)))
        logger._own = active is None
        return logger

    def begin(self, config: Mapping[str, Any]) -> None:
        self.run.config.update({"proctor": dict(config)}, allow_val_change=True)

    def log(self, values: Mapping[str, float], step: int) -> None:
        self.run.log(dict(values), step=step)

    def close(self) -> None:
        if self._own:
            self._own = False
            self.run.finish()


def _wandb() -> Any:
    return optional("wandb", "WandbLogger", "wandb")
