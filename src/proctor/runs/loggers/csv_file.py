"""Numbers as rows `step,key,value` of a CSV file: one more metric is one more row, and appending is enough."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Self

from proctor import cells
from proctor.errors import InputError
from proctor.runs.loggers.base import Logger, LoggerOptions

HEADER = ["step", "key", "value"]


class CsvOptions(LoggerOptions):
    """`path` starts from the run folder; `./numbers.csv` starts from the config's folder."""

    path: str = "numbers.csv"


class CsvLogger(Logger):
    """Rows `step,key,value` of a CSV file.

    Appends to `path`, which is made with its folders where it is absent. Every `log` is on disk when it returns, and
    opening the file again goes on where it ended. Of two rows with one step and key, the later one holds. Values keep
    every digit."""

    Options: ClassVar[type[LoggerOptions]] = CsvOptions

    def __init__(self, path: str | Path):
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._check()

    @classmethod
    def for_run(cls, options: CsvOptions, folder: Path) -> Self:
        return cls(folder / options.path)

    def log(self, values: Mapping[str, float], step: int) -> None:
        fresh = not self.path.exists() or self.path.stat().st_size == 0
        with self.path.open("a", newline="") as file:
            rows = csv.writer(file)
            if fresh:
                rows.writerow(HEADER)
            rows.writerows([step, cells.written(key), repr(float(value))] for key, value in values.items())

    def _check(self) -> None:
        if not self.path.exists() or self.path.stat().st_size == 0:
            return
        with self.path.open(newline="") as file:
            found = next(csv.reader(file))
        if found != HEADER:
            raise InputError(
                f"{self.path} begins with {','.join(found)}; expected {','.join(HEADER)}; use another file"
            )
