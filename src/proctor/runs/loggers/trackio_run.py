"""Numbers, the config, the final table, the report and videos to a Trackio run."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager, redirect_stdout
from pathlib import Path
from typing import Any, ClassVar, Self

from proctor.errors import InputError, optional
from proctor.runs.loggers.base import LoggerOptions
from proctor.runs.loggers.evidence import EvidenceOptions, ServiceLogger


class TrackioOptions(EvidenceOptions):
    """The project of the run that is started. `space`: the Hugging Face Space that shows it; None: as TRACKIO_SPACE_ID
    says, else a folder of this machine (TRACKIO_DIR)."""

    project: str = "proctor"
    space: str | None = None


class TrackioLogger(ServiceLogger):
    """History of a Trackio run.

    Logs to `run`, which `trackio.init` gave, and which stays open when the logger is closed. Trackio takes finite
    numbers only: others are left out. A run from the command line has a run of its own, which a resumed one goes on
    with."""

    Options: ClassVar[type[LoggerOptions]] = TrackioOptions

    def __init__(self, run: Any):
        if run is None:
            raise InputError("TrackioLogger found no run; give it one: TrackioLogger(trackio.init(project))")
        super().__init__(_trackio(), run)

    @classmethod
    def for_run(cls, options: TrackioOptions, folder: Path) -> Self:
        with redirect_stdout(sys.stderr):
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
        finite = {key: float(value) for key, value in values.items() if math.isfinite(value)}
        self._step = step
        if finite:
            self._send(finite)

    def _finish(self) -> None:
        active = self._service.context_vars.current_run.get() is self.run
        self._service.finish() if active else self.run.finish()

    def _aside(self) -> AbstractContextManager[Any]:
        return redirect_stdout(sys.stderr)


def _trackio() -> Any:
    return optional("trackio", "TrackioLogger", "trackio")
