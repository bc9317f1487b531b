"""Connections to a ledger, wherever it lies."""

from __future__ import annotations

import os
import shutil
import sqlite3
from pathlib import Path
from tempfile import TemporaryDirectory

Copied = TemporaryDirectory[str] | None


def connect(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, isolation_level=None, timeout=30, check_same_thread=False)


def reached(path: Path, copied: bool = False) -> tuple[sqlite3.Connection, Copied]:
    """A connection to a ledger that exists; to a copy, which is to be removed, where that is wanted or its folder
    cannot be written to: SQLite writes beside a file that it reads, and what a reader settles in a ledger must go
    somewhere."""
    if not copied and all(os.access(place, os.W_OK, effective_ids=True) for place in (path.parent, path)):
        return connect(path), None
    folder = TemporaryDirectory(prefix="proctor-ledger-")
    for name in (path.name, f"{path.name}-wal"):
        if path.with_name(name).is_file():
            shutil.copyfile(path.with_name(name), Path(folder.name, name))
    return connect(Path(folder.name, path.name)), folder
