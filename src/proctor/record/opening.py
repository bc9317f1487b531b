"""Connections to a ledger, wherever it lies."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from tempfile import TemporaryDirectory

Copied = TemporaryDirectory[str] | None

_ASIDE: ContextVar[bool] = ContextVar("ledgers are read from copies", default=False)
_TRIES = 5
"""Copies of a ledger that is being written, before one is taken as it is."""


def connect(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, isolation_level=None, timeout=30, check_same_thread=False)


@contextmanager
def reading_only() -> Iterator[None]:
    """Within this block ledgers are read from copies: nothing is written beside them, and no run waits for a reader."""
    token = _ASIDE.set(True)
    try:
        yield
    finally:
        _ASIDE.reset(token)


def reached(path: Path, copied: bool = False) -> tuple[sqlite3.Connection, Copied]:
    """A connection to a ledger that exists; to a copy, which is to be removed, where that is wanted or its folder
    cannot be written to: SQLite writes beside a file that it reads, and what a reader settles in a ledger must go
    somewhere."""
    aside = copied or _ASIDE.get()
    if not aside and all(os.access(place, os.W_OK, effective_ids=True) for place in (path.parent, path)):
        return connect(path), None
    folder = TemporaryDirectory(prefix="proctor-ledger-")
    try:
        _copy(path, Path(folder.name))
    except BaseException:
        folder.cleanup()
        raise
    return connect(Path(folder.name, path.name)), folder


def _copy(path: Path, folder: Path) -> None:
    """A ledger and what is not yet in its main file. SQLite ignores what is torn at the end of the second one; the
    first must not change while both are copied, so then they are copied again."""
    beside = path.with_name(f"{path.name}-wal")
    for _ in range(_TRIES):
        before = os.stat(path)
        shutil.copyfile(path, folder / path.name)
        if beside.is_file():
            try:
                shutil.copyfile(beside, folder / beside.name)
            except FileNotFoundError:  # its writer has just ended, and put everything into the main file
                (folder / beside.name).unlink(missing_ok=True)
                continue
        else:
            (folder / beside.name).unlink(missing_ok=True)
        after = os.stat(path)
        if (before.st_mtime_ns, before.st_size) == (after.st_mtime_ns, after.st_size):
            return
