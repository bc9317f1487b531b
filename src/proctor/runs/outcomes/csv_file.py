"""Outcomes in a CSV file: a header, and a row per trial, or per trial and rater."""

from __future__ import annotations

import csv
import difflib
import io
from collections import Counter
from pathlib import Path

from proctor.cells import read as read_cell
from proctor.errors import InputError
from proctor.registry import nearest
from proctor.runs.outcomes.rows import KNOWN, Outcomes, Raw

SHOWN = [name for name in KNOWN if name not in ("agent", "success")]

CLOSE = 0.75
"""How alike names are that may be the same."""


def read_csv(path: Path) -> Outcomes:
    """The rows of the file. Raises InputError where it is no table with a header that says enough."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read: {error}") from None
    first = text.partition("\n")[0]
    delimiter = max(",;\t", key=first.count)
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        names = [read_cell(name.strip()) for name in reader.fieldnames or []]
        reader.fieldnames = names
        _check_header(path, names)
        raws = [Raw(f"row {reader.line_num}", row) for row in reader]
    except csv.Error as error:
        raise InputError(f"{path}, row {reader.line_num + 1}: no row of a table: {error}") from None
    if not raws:
        raise InputError(f"{path} has a header and no rows; expected a row per trial")
    return Outcomes("csv", raws, _misspelt(names))


def _check_header(path: Path, names: list[str]) -> None:
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise InputError(f'{path}, row 1: column "{twice[0]}" is there twice')
    missing = ["agent"] if "agent" not in names else []
    missing += ["success"] if not {"success", "outcome"} & set(names) else []
    if missing:
        found = ", ".join(names) or "nothing"
        others = [name for name in names if name not in KNOWN]
        meant = {name: nearest(name, others) for name in missing}
        hint = "".join(f' Did you mean {name} by "{near}"?' for name, near in meant.items() if near)
        raise InputError(
            f"{path}, row 1: no column {' and no column '.join(missing)}; found {found}.{hint} Expected agent and "
            f"success, and if you have them {', '.join(SHOWN)}"
        )


def _misspelt(names: list[str]) -> tuple[str, ...]:
    """Columns that are kept as metrics, and were perhaps meant as something else."""
    near = {name: difflib.get_close_matches(name.lower(), KNOWN, 1, CLOSE) for name in names if name not in KNOWN}
    return tuple(
        f'the column "{name}" is kept as a metric; if it is {meant[0]}, call it so'
        for name, meant in near.items()
        if meant and meant[0] not in names
    )
