"""Processes of a run: found in /proc by the mark that they inherit, whoever adopted them."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

MARK = "CAMPAIGN_MARK"
"""The variable that every process of a session inherits."""


def marked(mark: str) -> dict[int, str]:
    """Living processes with this mark: id -> command line."""
    wanted = f"{MARK}={mark}".encode()
    found: dict[int, str] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        with contextlib.suppress(OSError):
            if wanted in (entry / "environ").read_bytes().split(b"\0") and not _ended(entry):
                found[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    return found


def workers(mark: str) -> list[int]:
    """Worker processes of a session and their keepers, which are the same program, in the order of their ids."""
    return sorted(pid for pid, command in marked(mark).items() if "proctor_host.keeper" in command)


def send(pid: int, number: signal.Signals) -> bool:
    """Whether the signal reached somebody."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True


def _ended(entry: Path) -> bool:
    """A process that has ended and that nobody has waited for."""
    return (entry / "stat").read_text().rpartition(")")[2].split()[0] in "ZX"
