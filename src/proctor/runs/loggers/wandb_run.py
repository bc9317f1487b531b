"""Numbers, the final table, the report and videos to a Weights & Biases run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from proctor.errors import InputError, optional
from proctor.runs.loggers.base import LoggerOptions
from proctor.runs.loggers.evidence import EvidenceOptions, ServiceLogger, plain_name


class WandbOptions(EvidenceOptions):
    """Where the run is started, where none is active; None: the service's default. The key is that of `wandb login`, or
    of the variable WANDB_API_KEY."""

    project: str | None = None
    entity: str | None = None
    group: str | None = None
    mode: Literal["online", "offline"] | None = None
    """`offline` keeps everything in the run folder, to be sent with `wandb sync`; None: as WANDB_MODE says."""


class WandbLogger(ServiceLogger):
    """History of a Weights & Biases run.

    Logs to `run`, or to the run that the training script has started, which stays open when the logger is closed. Steps
    must not go back: the service drops what comes with an earlier step. A run from the command line has a run of its
    own, which a resumed one goes on with."""

    Options: ClassVar[type[LoggerOptions]] = WandbOptions

    def __init__(self, run: Any = None):
        wandb = _wandb()
        super().__init__(wandb, wandb.run if run is None else run)
        if self.run is None:
            raise InputError("WandbLogger found no run; call wandb.init() first, or give it one: WandbLogger(run)")

    @classmethod
    def for_run(cls, options: WandbOptions, folder: Path) -> Self:
        """On the active run, or on one that is started with the run folder's name and ends with this logger."""
        wandb = _wandb()
        active = wandb.run
        logger = cls(active or _started(wandb, options, folder))
        logger._own, logger._evidence = active is None, (options, folder)
        return logger

    def begin(self, config: Mapping[str, Any]) -> None:
        self.run.config.update({"proctor": dict(config)}, allow_val_change=True)


def _started(wandb: Any, options: WandbOptions, folder: Path) -> Any:
    """The run of this folder. It listens neither to what the terminal shows nor to the machine."""
    where = {"project": options.project, "entity": options.entity, "group": options.group, "mode": options.mode}
    settings = wandb.Settings(console="off", quiet=True, x_disable_stats=True, save_code=False, disable_git=True)
    name = {"name": folder.name, "id": plain_name(folder.name), "resume": "allow"}
    return wandb.init(**where, **name, dir=str(folder), job_type="evaluation", settings=settings)


def _wandb() -> Any:
    return optional("wandb", "WandbLogger", "wandb")
