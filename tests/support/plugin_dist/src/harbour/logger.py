"""A run logger: one line of JSON for each log."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

from proctor import Logger, LoggerOptions


class BellOptions(LoggerOptions):
    """`file_name`: where the lines go, in the run folder."""

    file_name: str = "bell.jsonl"


class Bell(Logger):
    """Appends lines of JSON."""

    Options: ClassVar[type[LoggerOptions]] = BellOptions

    def __init__(self, path: Path):
        self._path = path

    @classmethod
    def for_run(cls, options: Any, folder: Path) -> Self:
        return cls(folder / options.file_name)

    def log(self, values: Mapping[str, float], step: int) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"step": step, **values}) + "\n")
