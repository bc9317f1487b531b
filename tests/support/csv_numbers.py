"""Reading what a CsvLogger wrote."""

from __future__ import annotations

import csv
from pathlib import Path


def read_csv(path: str | Path) -> dict[int, dict[str, float]]:
    """Step -> values."""
    history: dict[int, dict[str, float]] = {}
    with Path(path).open(newline="") as file:
        for row in csv.DictReader(file):
            history.setdefault(int(row["step"]), {})[row["key"]] = float(row["value"])
    return history
