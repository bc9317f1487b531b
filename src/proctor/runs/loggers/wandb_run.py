"""Numbers, the final table, the report and videos to a Weights & Biases run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from proctor.errors import InputError, optional
from proctor.runs.loggers.base import Logger, LoggerOptions
from proctor.runs.loggers.evidence import (
    COLUMNS,
    EvidenceOptions,
    cells_of,
    chosen_videos,
    columns_of,
    plain_name,
    report_files,
    table,
)


class WandbOptions(EvidenceOptions):
    """Where the run is started, where none is active; None: the service's default. The key is that of `wandb login`, or
    of the variable WANDB_API_KEY."""

    project: str | None = None
    entity: str | None = None
    group: str | None = None
    mode: Literal["online", "offline"] | None = None
    """`offline` keeps everything in the run folder, to be sent with `wandb sync`; None: as WANDB_MODE says."""


class WandbLogger(Logger):
    """History of a Weights & Biases run.

    Logs to `run`, or to the run that the training script has started, which stays open when the logger is closed. Steps
    must not go back: the service drops what comes with an earlier step. A run from the command line has a run of its
    own, which a resumed one goes on with."""

    Options: ClassVar[type[LoggerOptions]] = WandbOptions

    def __init__(self, run: Any = None):
        self._wandb = _wandb()
        self.run = self._wandb.run if run is None else run
        if self.run is None:
            raise InputError("WandbLogger found no run; call wandb.init() first, or give it one: WandbLogger(run)")
        self._own, self._step = False, 0
        self._evidence: tuple[WandbOptions, Path] | None = None

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

    def log(self, values: Mapping[str, float], step: int) -> None:
        self._step = step
        self.run.log(dict(values), step=step)

    def log_rows(self, name: str, rows: Sequence[Mapping[str, Any]], step: int) -> None:
        self._step = step
        self.run.log({name: self._wandb.Table(columns=columns_of(rows), data=cells_of(rows))}, step=step)

    def end(self, report: Mapping[str, Any]) -> None:
        rows = table(report)
        self.run.log({"report/table": self._wandb.Table(columns=list(COLUMNS), data=rows)}, step=self._step)
        if self._evidence is None:
            return
        options, folder = self._evidence
        for name, path in chosen_videos(folder, options.videos):
            video = self._wandb.Video(str(path), caption=name, format="mp4")
            self.run.log({f"videos/{name}": video}, step=self._step)
        if options.report and (files := report_files(folder)):
            artifact = self._wandb.Artifact(f"report-{plain_name(folder.name)}", type="report")
            for path in files:
                artifact.add_file(str(path), name=path.name)
            self.run.log_artifact(artifact)

    def close(self) -> None:
        if self._own:
            self._own = False
            self.run.finish()


def _started(wandb: Any, options: WandbOptions, folder: Path) -> Any:
    """The run of this folder. It listens neither to what the terminal shows nor to the machine."""
    where = {"project": options.project, "entity": options.entity, "group": options.group, "mode": options.mode}
    settings = wandb.Settings(console="off", quiet=True, x_disable_stats=True, save_code=False, disable_git=True)
    name = {"name": folder.name, "id": plain_name(folder.name), "resume": "allow"}
    return wandb.init(**where, **name, dir=str(folder), job_type="evaluation", settings=settings)


def _wandb() -> Any:
    return optional("wandb", "WandbLogger", "wandb")
