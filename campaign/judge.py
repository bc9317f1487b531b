"""Whether a disturbed run is what the undisturbed one is, and whether what was finished stayed finished."""

from __future__ import annotations

import csv
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

VARYING = ("wall_time_s", "attempts", "faults", "video")
"""Columns of the ledger and of summary.csv that differ from day to day."""


PASSING = ("wall", "attempt", "retried")
"""What names in reports speak of that differs from day to day."""


def differences(run: Path, reference: Path) -> list[str]:
    """What is not as in the undisturbed run: records byte by byte, then the ledger, then what is made of it."""
    return [
        *_records(run, reference),
        *_ledgers(run, reference),
        *_summaries(run, reference),
        *_reports(run, reference),
    ]


def _records(run: Path, reference: Path) -> list[str]:
    ours, theirs = (_files(folder / "trials") for folder in (run, reference))
    found = [f"record {name} is missing" for name in sorted(theirs.keys() - ours.keys())]
    found += [f"record {name} is there too many" for name in sorted(ours.keys() - theirs.keys())]
    both = sorted(ours.keys() & theirs.keys())
    return found + [f"record {name} differs" for name in both if ours[name].read_bytes() != theirs[name].read_bytes()]


def _files(folder: Path) -> dict[str, Path]:
    return {path.name: path for path in folder.iterdir()} if folder.is_dir() else {}


def _ledgers(run: Path, reference: Path) -> list[str]:
    ours, theirs = ledger_rows(run), ledger_rows(reference)
    found = [f"trial {key} is missing" for key in sorted(theirs.keys() - ours.keys())]
    for key in sorted(ours.keys() & theirs.keys()):
        names = [name for name, value in theirs[key].items() if name not in VARYING and ours[key][name] != value]
        found += [f"trial {key}: {name} is {ours[key][name]!r}, not {theirs[key][name]!r}" for name in names]
    return found


def ledger_rows(run: Path) -> dict[str, dict[str, Any]]:
    """The rows of the ledger, by the trial's key."""
    with closing(sqlite3.connect(f"file:{run / 'ledger.sqlite'}?mode=ro", uri=True, timeout=30.0)) as db:
        db.row_factory = sqlite3.Row
        rows = [dict(row) for row in db.execute("SELECT * FROM trials")]
    for row in rows:  # where in the code an error was met depends on who shared the forward
        row["error"] = row["error"] and row["error"].splitlines()[0]
    return {f"{row['agent']}/{row['task']}/{row['idx']}": row for row in rows}


def _summaries(run: Path, reference: Path) -> list[str]:
    ours, theirs = _table(run / "summary.csv"), _table(reference / "summary.csv")
    return [] if ours == theirs else ["summary.csv differs"]


def _table(path: Path) -> list[dict[str, str]]:
    if not path.is_file():
        return []
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file, delimiter=";"))
    return [{name: cell for name, cell in row.items() if name not in (*VARYING, "error")} for row in rows]


def _reports(run: Path, reference: Path) -> list[str]:
    """A run that was extended after a report had been looked at has tests that allow for it, and says so: of such a run
    only the agents are compared."""
    names = ("agents",) if _looks(run) else ("agents", "comparison", "verdict")
    ours, theirs = _report(run), _report(reference)
    return [f"report.json: {name} differs" for name in names if ours.get(name) != theirs.get(name)]


def _looks(run: Path) -> bool:
    with closing(sqlite3.connect(f"file:{run / 'ledger.sqlite'}?mode=ro", uri=True, timeout=30.0)) as db:
        found = db.execute("SELECT value FROM meta WHERE key = 'looks'").fetchone()
    return found is not None and json.loads(found[0]) != []


def _report(run: Path) -> dict[str, Any]:
    path = run / "report.json"
    return _timeless(json.loads(path.read_text())) if path.is_file() else {}


def _timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _timeless(part) for name, part in value.items() if not any(word in name for word in PASSING)}
    return [_timeless(part) for part in value] if isinstance(value, list) else value


# What was finished ---------------------------------------------------------------------------------------------------


def finished(run: Path) -> dict[str, tuple[Any, ...]]:
    """Finished trials and what came of them. A trial that the infrastructure broke is not finished: it may be run
    again."""
    rows = ledger_rows(run)
    return {
        key: (row["outcome"], row["digest"], row["npz"])
        for key, row in rows.items()
        if row["state"] == "done" and row["outcome"] not in ("env_error", "timeout", "worker_lost")
    }


def lost(before: dict[str, tuple[Any, ...]], run: Path, touched: set[str]) -> list[str]:
    """Trials that were finished and are not any more, those aside whose records somebody `touched`."""
    now = finished(run)
    return [
        f"trial {key} was finished as {was[0]}, and is {now.get(key, ('unfinished',))[0]}"
        for key, was in before.items()
        if now.get(key) != was and Path(str(was[2])).name not in touched
    ]
