"""The rows of a benchmark as they come, in a file of JSON lines: nothing that was measured is lost.

The first line names the machine; then each comparison begins, has its rows, and is done or has failed."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

from benchmarks.sides import ROOT
from benchmarks.table import Row


class Journal:
    """`rows`: by comparison, those of the comparisons that are done, which a journal that is resumed begins with."""

    def __init__(self, path: Path, machine: str):
        self.path, self.rows = path, {} if not path.exists() else _done(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            self._write({"machine": machine})

    @classmethod
    def new(cls, machine: str) -> Journal:
        return cls(ROOT / "results" / "bench" / f"{datetime.now():%Y-%m-%d_%H-%M-%S}.jsonl", machine)

    def begin(self, comparison: str) -> None:
        self._write({"comparison": comparison, "begins": True})

    def add(self, comparison: str, row: Row) -> None:
        self._write({"comparison": comparison, "row": plain(row)})

    def done(self, comparison: str) -> None:
        self._write({"comparison": comparison, "done": True})

    def _write(self, line: dict[str, Any]) -> None:
        with self.path.open("a") as file:
            file.write(json.dumps(line) + "\n")


def plain(row: Row) -> dict[str, Any]:
    """The row as JSON has it: a number that there is not is null."""
    return {k: None if isinstance(v, float) and math.isnan(v) else v for k, v in asdict(row).items()}


def _done(path: Path) -> dict[str, list[Row]]:
    """The rows of the comparisons that are done. One that was interrupted or has failed is measured anew."""
    found: dict[str, list[Row]] = {}
    finished: dict[str, list[Row]] = {}
    for line in path.read_text().splitlines():
        try:
            said = json.loads(line)
        except ValueError:
            continue  # a line that was being written when the process was killed
        if "row" in said:
            found[said["comparison"]].append(Row(**said["row"]))
        elif "begins" in said:
            found[said["comparison"]] = []
        elif "done" in said:
            finished[said["comparison"]] = found[said["comparison"]]
    return finished
