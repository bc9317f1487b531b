"""Files that are there whole or not at all; JSON and CSV without NaN."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from proctor import cells
from proctor.record.files import replacing


def write_text(path: Path, text: str) -> None:
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def write_json(path: Path, data: Any) -> None:
    """Write plain data (see `plain`) as JSON."""
    write_text(path, json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def write_csv(path: Path, header: Iterable[str], rows: Iterable[Iterable[Any]]) -> None:
    """Write a `;`-delimited table, blank where a value is None or NaN; text is no formula (`proctor.cells`)."""
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, delimiter=";", lineterminator="\n")
        writer.writerow([cells.written(name) for name in header])
        writer.writerows([_cell(value) for value in row] for row in rows)


def _cell(value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, float):
        return repr(float(value))
    return str(value) if isinstance(value, (bool, int, np.number)) else cells.written(str(value))


def plain(value: Any) -> Any:
    """JSON-ready data: mappings, sequences, arrays rebuilt, non-finite numbers as null, anything else as its text."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    return str(value)
