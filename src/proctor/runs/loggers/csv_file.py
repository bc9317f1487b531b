"""Numbers as rows `step,key,value` of a CSV file: one more metric is one more row, and appending is enough."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

from proctor import cells
from proctor.errors import InputError
from proctor.runs.loggers.base import Logger, LoggerOptions

HEADER = ["step", "key", "value"]
ROWS_HEADER = ["step", "table", "row", "key", "value"]


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
        _check(self.path, HEADER)

    @classmethod
    def for_run(cls, options: CsvOptions, folder: Path) -> Self:
        return cls(folder / options.path)

    def log(self, values: Mapping[str, float], step: int) -> None:
        _append(self.path, HEADER, ([step, cells.written(key), repr(float(value))] for key, value in values.items()))

    def log_rows(self, name: str, rows: Sequence[Mapping[str, Any]], step: int) -> None:
        """To the file `<name of path>_rows.csv` beside it, a line for each value: `step,table,row,key,value`; `row` is
        the row's first value."""
        _check(self.rows_path, ROWS_HEADER)
        lines = [
            [
                step,
                cells.written(name),
                cells.written(str(next(iter(row.values())))),
                cells.written(key),
                _written(value),
            ]
            for row in rows
            for key, value in list(row.items())[1:]
        ]
        _append(self.rows_path, ROWS_HEADER, lines)

    @property
    def rows_path(self) -> Path:
        return self.path.with_name(f"{self.path.stem}_rows.csv")


def _written(value: Any) -> str:
    return repr(float(value)) if isinstance(value, int | float) else cells.written(str(value))


def _append(path: Path, header: list[str], lines: Iterable[list[Any]]) -> None:
    fresh = not path.exists() or path.stat().st_size == 0
    with path.open("a", newline="") as file:
        rows = csv.writer(file)
        if fresh:
            rows.writerow(header)
        rows.writerows(lines)


def _check(path: Path, header: list[str]) -> None:
    if not path.exists() or path.stat().st_size == 0:
        return
    with path.open(newline="") as file:
        found = next(csv.reader(file))
    if found != header:
        raise InputError(f"{path} begins with {','.join(found)}; expected {','.join(header)}; use another file")
