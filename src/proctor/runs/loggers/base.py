"""The logger contract, a logger in memory, and several loggers as one.

A config names loggers by `loggers: [csv, {kind: tensorboard, options: {folder: tb}}]`; other packages add theirs
through the entry point group `proctor.loggers`. A training loop makes one itself: `CsvLogger("eval.csv")`.
"""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict


class LoggerOptions(BaseModel):
    """Base of a logger's options: frozen data, unknown keys refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Logger(abc.ABC):
    """Takes numbers by name at a step. Names have slashes; a standard deviation ends in `#std`.

    In a run, `step` counts the trials that are done, and a step may be logged more than once. A logger that raises is
    switched off; the run goes on."""

    Options: ClassVar[type[LoggerOptions]] = LoggerOptions
    """What a config may say under `options`."""

    @classmethod
    def for_run(cls, options: Any, folder: Path) -> Self:
        """The logger of the run in `folder`. Raises InputError, before the first trial, for what the user can mend."""
        return cls()

    def begin(self, config: Mapping[str, Any]) -> None:  # noqa: B027 - optional to override
        """Called once at the start of a session of a run, with the config as `config.json` has it."""

    @abc.abstractmethod
    def log(self, values: Mapping[str, float], step: int) -> None:
        """Take these numbers."""

    def log_rows(self, name: str, rows: Sequence[Mapping[str, Any]], step: int) -> None:  # noqa: B027 - optional
        """Take a table: one row for each motion (or task) of an evaluation, numbers and texts by column; a row may lack
        columns that others have. A logger without a place for tables leaves it out."""

    def end(self, report: Mapping[str, Any]) -> None:  # noqa: B027 - optional to override
        """Called after the last `log` of a session of a run, with the report as `report.json` has it."""

    def close(self) -> None:  # noqa: B027 - optional to override
        """Let go of files and connections. May be called twice."""


class DictLogger(Logger):
    """Keeps everything in `history`: step -> values. Logging a step again adds to it; the later value wins. Tables are
    kept in `tables`: step -> name -> rows."""

    def __init__(self) -> None:
        self.history: dict[int, dict[str, float]] = {}
        self.tables: dict[int, dict[str, list[dict[str, Any]]]] = {}

    def log(self, values: Mapping[str, float], step: int) -> None:
        self.history.setdefault(step, {}).update(values)

    def log_rows(self, name: str, rows: Sequence[Mapping[str, Any]], step: int) -> None:
        self.tables.setdefault(step, {})[name] = [dict(row) for row in rows]

    def series(self, key: str) -> dict[int, float]:
        """One key over the steps that have it."""
        return {step: values[key] for step, values in sorted(self.history.items()) if key in values}


class Loggers(Logger):
    """Several loggers as one, for a training loop."""

    def __init__(self, *loggers: Logger):
        self.loggers = loggers

    def log(self, values: Mapping[str, float], step: int) -> None:
        for logger in self.loggers:
            logger.log(values, step)

    def log_rows(self, name: str, rows: Sequence[Mapping[str, Any]], step: int) -> None:
        for logger in self.loggers:
            logger.log_rows(name, rows, step)

    def close(self) -> None:
        for logger in self.loggers:
            logger.close()
