"""A disk that takes no more: full, over its quota, read-only, broken, or with a limit on the size of a file.

Wherever that shows first (a record, the ledger, a report, a log), the run ends with one sentence: which disk, what is
kept, and how to go on.
"""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from proctor.errors import RunError

_NUMBERS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO)
_TEXTS = (*map(os.strerror, _NUMBERS), "database or disk is full", "disk I/O error", "readonly database")
"""How programs that are not Python's own (SQLite, DuckDB, encoders, workers) say the same."""


class DiskError(RunError):
    """The disk takes no more. What was finished before is kept."""


def trouble(error: BaseException) -> str | None:
    """What is wrong with the disk where that is why `error` was raised; None for any other error."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, OSError) and seen.errno in _NUMBERS:
            return os.strerror(seen.errno)
        known = next((text for text in _TEXTS if text in str(seen)), None)
        if known is not None:
            return known
        seen = seen.__cause__ or seen.__context__
    return None


@contextmanager
def finishing(path: Path) -> Iterator[None]:
    """For work on the run folder `path`: raises DiskError where the disk takes no more, and says how many trials are
    kept. Any other error passes."""
    try:
        yield
    except DiskError:
        raise
    except Exception as error:
        why = trouble(error)
        if why is None:
            raise
        done, planned = counted(path / "ledger.sqlite") or (None, None)
        kept = "what is finished is kept" if done is None else f"{done} of {planned} trials are finished and kept"
        raise DiskError(f"{described(path, why)}; {kept}. Mend that, then: proctor resume {path}") from error


@contextmanager
def beginning(path: Path) -> Iterator[None]:
    """For a new run folder `path` until its trials are planned: as `finishing`, and the folder, which could not be
    resumed, is removed."""
    try:
        yield
    except Exception as error:
        why = trouble(error)
        if why is None:
            raise
        said = described(path, why)
        shutil.rmtree(path, ignore_errors=True)
        left = f" (remove {path}, which cannot be resumed)" if path.exists() else ""
        raise DiskError(f"{said}; nothing was begun{left}. Mend that, then run the same command again") from error


def described(path: Path, why: str) -> str:
    """The disk that holds `path`, and what is wrong with it."""
    place = path.absolute()
    while not place.exists() or not os.path.ismount(place):
        place = place.parent
    free = ""
    with suppress(OSError):
        free = f", {shutil.disk_usage(place).free / 1e6:,.1f} MB free"
    return f"the disk at {place} takes no more ({why}{free})"


def counted(ledger: Path) -> tuple[int, int] | None:
    """Trials that are finished, and planned; None where the ledger cannot be read any more."""
    try:
        connection = sqlite3.connect(ledger)
        try:
            done, planned = connection.execute("SELECT SUM(state = 'done'), COUNT(*) FROM trials").fetchone()
            return done or 0, planned
        finally:
            connection.close()
    except sqlite3.Error:
        return None
