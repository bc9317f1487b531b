"""Proctor's command line with faults inside its own process: `python -m campaign.inside FAULTS ARGUMENT...`.

FAULTS is JSON: what is to strike, by kind. File operations are counted by an audit hook, so that "the 40th operation"
is the same place in every run of the same command; the disk is a double that has no room from some operation on.
"""

from __future__ import annotations

import datetime
import errno
import json
import os
import random
import resource
import signal
import sqlite3
import sys
import time
from collections.abc import Callable
from typing import Any

FIRED = "CAMPAIGN_FIRED"
"""The variable that names the folder where a fault leaves its name as it strikes."""
BEGUN = "begun"
"""What it leaves there first: from now on it is not Python that starts, but Proctor."""
SPARED = ("/proc/", "/dev/", "/sys/")


def main() -> None:
    faults: dict[str, Any] = json.loads(sys.argv[1])
    sys.argv = ["proctor", *sys.argv[2:]]
    operations = [fault for kind, at in faults.items() if (fault := _by_operation(kind, at)) is not None]
    if operations:
        sys.addaudithook(_Counting(operations))
    if "disk full for the ledger" in faults:
        sqlite3.connect = _connecting(int(faults["disk full for the ledger"]))
    if "file size limit" in faults:
        _limit_file_sizes(int(faults["file size limit"]))
    if "clock jumps" in faults:
        _jump(faults["clock jumps"])

    from proctor.__main__ import main as proctor

    fired(BEGUN)
    proctor()


def fired(kind: str) -> None:
    """Leave word that a fault struck, where somebody wants to know."""
    if FIRED not in os.environ:
        return
    fd = os.open(os.path.join(os.environ[FIRED], kind), os.O_WRONLY | os.O_CREAT, 0o600)
    os.close(fd)


# File operations -----------------------------------------------------------------------------------------------------


def _by_operation(kind: str, at: float) -> tuple[int, str, Callable[[], None]] | None:
    deeds = {"main killed at a file operation": _die, "disk full": _no_room}
    return (int(at), kind, deeds[kind]) if kind in deeds else None


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _no_room() -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class _Counting:
    """An audit hook: counts what changes files, and strikes from a given number on."""

    def __init__(self, faults: list[tuple[int, str, Callable[[], None]]]):
        self.faults, self.count, self.busy = faults, 0, False

    def __call__(self, event: str, args: tuple[Any, ...]) -> None:
        if self.busy or not _changes_files(event, args):
            return
        self.count += 1
        for at, kind, strike in self.faults:
            if self.count >= at:
                self.busy = True
                fired(kind)
                self.busy = False
                strike()


def _changes_files(event: str, args: tuple[Any, ...]) -> bool:
    if event == "open":
        path, _, flags = args
        if not isinstance(flags, int) or not flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            return False
        return not str(path).startswith((*SPARED, os.environ.get(FIRED, SPARED[0])))
    return event in ("os.rename", "os.mkdir", "os.link", "os.symlink")


# The ledger's disk ---------------------------------------------------------------------------------------------------


def _connecting(at: int) -> Callable[..., sqlite3.Connection]:
    """`sqlite3.connect` whose connections have no room from the `at`-th changing statement on."""
    count = 0

    class Full(sqlite3.Connection):
        def execute(self, sql: str, *args: Any) -> sqlite3.Cursor:
            _count(sql)
            return super().execute(sql, *args)

        def executemany(self, sql: str, *args: Any) -> sqlite3.Cursor:
            _count(sql)
            return super().executemany(sql, *args)

    def _count(sql: str) -> None:
        nonlocal count
        count += sql.lstrip()[:6].upper() in ("INSERT", "UPDATE", "DELETE", "COMMIT")
        if count >= at:
            fired("disk full for the ledger")
            raise sqlite3.OperationalError("database or disk is full")

    connect = sqlite3.connect
    return lambda *args, **kwargs: connect(*args, **{"factory": Full, **kwargs})


def _limit_file_sizes(limit: int) -> None:
    """No file may become larger: what a quota does, for the ledger and the workers, too."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))


# The clock -----------------------------------------------------------------------------------------------------------


def _jump(seed: float) -> None:
    """The wall clock goes to another day each time that somebody looks at it."""
    rng, now = random.Random(seed), time.time

    def jumping() -> float:
        return now() + rng.uniform(-86_400 * 400, 86_400 * 400)

    genuine = datetime.datetime

    class Jumping(genuine):
        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> Any:
            return genuine.fromtimestamp(jumping(), tz)

    time.time, time.time_ns = jumping, lambda: int(jumping() * 1e9)
    datetime.datetime = Jumping
    fired("clock jumps")


if __name__ == "__main__":
    main()
