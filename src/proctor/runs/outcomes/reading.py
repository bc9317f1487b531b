"""Which kind of file outcomes are in, by its content, and what it says. A CSV file has a header, and a row per trial,
or per trial and rater."""

from __future__ import annotations

import csv
import difflib
import io
import os
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from proctor.cells import read as read_cell
from proctor.errors import InputError
from proctor.foreign import read_json
from proctor.registry import nearest
from proctor.runs.outcomes import inspect_log, lerobot, vla_eval
from proctor.runs.outcomes.rows import KNOWN, Outcomes, Raw, said

CSV = "csv"
TESTS: dict[str, Callable[[Any], bool]] = {
    lerobot.KIND: lerobot.is_lerobot,
    vla_eval.KIND: vla_eval.is_vla_eval,
    inspect_log.KIND: inspect_log.is_inspect,
}
KINDS = (CSV, *TESTS)


@dataclass(frozen=True)
class Reading:
    """How a file is to be read. `kind`: one of KINDS; None: by its content. `agent`: what the agent is called where the
    file does not say, or is to be called; `scorer`: which of several decides."""

    kind: str | None = None
    agent: str | None = None
    scorer: str | None = None


def read_outcomes(path: Path, reading: Reading) -> Outcomes:
    """What the file says. Raises InputError where it cannot be read, or has another content than was said."""
    if reading.kind not in (None, *KINDS):
        raise InputError(f"found --format {reading.kind}; expected one of {', '.join(KINDS)}")
    _check_file(path)
    data = None if reading.kind == CSV else _json(path)
    if data is None:
        if reading.kind not in (None, CSV):
            raise InputError(f"{path} is no JSON, which {reading.kind} would be; leave --format out, or say csv")
        return read_csv(path)
    kind = reading.kind or next((name for name, test in TESTS.items() if test(data)), None)
    if kind is None or not TESTS[kind](data):
        keys = ", ".join(map(str, list(data)[:8])) or "an empty object" if isinstance(data, dict) else said(data)
        wanted = kind or "eval_info.json of LeRobot, a result of vla-eval or a log of Inspect"
        raise InputError(f"{path} is JSON, but no {wanted}; found {keys}. A CSV file with a row per trial is read, too")
    try:
        found = _read(kind, data, path, reading)
    except InputError as error:
        raise InputError(f"{path}, {error}") from None
    if not found.raws:
        raise InputError(f"{path} has no episodes")
    return replace(found, raws=_alike(found.raws))


def plain_name(path: Path) -> str:
    """What to call a run of this file: its name, or its folder's where the name is always the same."""
    return path.absolute().parent.name if path.stem == "eval_info" else path.stem


def _read(kind: str, data: Any, path: Path, reading: Reading) -> Outcomes:
    if kind == lerobot.KIND:
        return lerobot.read_lerobot(data, reading.agent, plain_name(path))
    if kind == vla_eval.KIND:
        return vla_eval.read_vla_eval(data, reading.agent, plain_name(path))
    return inspect_log.read_inspect(data, reading.agent, reading.scorer)


def _check_file(path: Path) -> None:
    if os.path.isdir(path):
        inside = sorted(one.name for one in path.iterdir() if one.suffix in (".json", ".csv", ".eval", ".tsv"))
        hint = f", such as {path / inside[0]}" if inside else ""
        raise InputError(f"{path} is a folder; expected a file with outcomes{hint}")
    if not os.path.exists(path):
        raise InputError(f"there is no file {path}; expected a CSV file with a row per trial, or another evaluator's")


def _json(path: Path) -> Any:
    """What a JSON file, or a zip with JSON, says; None for any other file."""
    try:
        with path.open("rb") as file:
            first = file.read(4096).lstrip(b"\xef\xbb\xbf \t\r\n")[:2]
        if first == b"PK":
            return inspect_log.unpacked(path)
        return read_json(path) if first[:1] in (b"{", b"[") else None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise InputError(f"{path} cannot be read: {reason}") from None


def _alike(raws: Iterable[Raw]) -> list[Raw]:
    """The rows with the same columns each: a metric that one has not is empty there."""
    raws = list(raws)
    names = dict.fromkeys(name for raw in raws for name in raw.cells if name not in KNOWN)
    return [replace(raw, cells={**dict.fromkeys(names), **raw.cells}) for raw in raws]


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
