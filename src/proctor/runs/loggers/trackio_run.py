"""Numbers, the config, the final table, the report and videos to a Trackio run."""

from __future__ import annotations

import contextlib
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

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


class TrackioOptions(EvidenceOptions):
    """The project of the run that is started. `space`: the Hugging Face Space that shows it; None: as TRACKIO_SPACE_ID
    says, else a folder of this machine (TRACKIO_DIR)."""

    project: str = "proctor"
    space: str | None = None


class TrackioLogger(Logger):
    """History of a Trackio run.

    Logs to `run`, which `trackio.init` gave, and which stays open when the logger is closed. Trackio takes finite
    numbers only: others are left out. A run from the command line has a run of its own, which a resumed one goes on
    with."""

    Options: ClassVar[type[LoggerOptions]] = TrackioOptions

    def __init__(self, run: Any):
        if run is None:
            raise InputError("TrackioLogger found no run; give it one: TrackioLogger(trackio.init(project))")
        self._trackio = _trackio()
        self.run = run
        self._own, self._step = False, 0
        self._evidence: tuple[TrackioOptions, Path] | None = None

    @classmethod
    def for_run(cls, options: TrackioOptions, folder: Path) -> Self:
        with contextlib.redirect_stdout(sys.stderr):
            run = _trackio().init(
                options.project, name=folder.name, space_id=options.space, resume="allow", embed=False,
                auto_log_gpu=False, auto_log_cpu=False,
            )  # fmt: skip
        logger = cls(run)
        logger._own, logger._evidence = True, (options, folder)
        return logger

    def begin(self, config: Mapping[str, Any]) -> None:
        self.run.config["proctor"] = dict(config)

    def log(self, values: Mapping[str, float], step: int) -> None:
        self._step = step
        finite = {key: float(value) for key, value in values.items() if math.isfinite(value)}
        if finite:
            self._send(finite)

    def log_rows(self, name: str, rows: Sequence[Mapping[str, Any]], step: int) -> None:
        self._step = step
        self._send({name: self._trackio.Table(columns=columns_of(rows), data=cells_of(rows))})

    def end(self, report: Mapping[str, Any]) -> None:
        self._send({"report/table": self._trackio.Table(columns=list(COLUMNS), data=table(report))})
        if self._evidence is None:
            return
        options, folder = self._evidence
        for name, path in chosen_videos(folder, options.videos):
            self._send({f"videos/{name}": self._trackio.Video(str(path), caption=name, format="mp4")})
        if options.report and (files := report_files(folder)):
            artifact = self._trackio.Artifact(f"report-{plain_name(folder.name)}", type="report")
            for path in files:
                artifact.add_file(str(path), name=path.name)
            with contextlib.redirect_stdout(sys.stderr):
                self.run.log_artifact(artifact)

    def close(self) -> None:
        if self._own:
            self._own = False
            with contextlib.redirect_stdout(sys.stderr):
                active = self._trackio.context_vars.current_run.get() is self.run
                self._trackio.finish() if active else self.run.finish()

    def _send(self, values: dict[str, Any]) -> None:
        with contextlib.redirect_stdout(sys.stderr):
            self.run.log(values, step=self._step)


def _trackio() -> Any:
    return optional("trackio", "TrackioLogger", "trackio")
