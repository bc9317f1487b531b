"""Proctor's command line in this process, again and again, watched: what it says, and what it writes where."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ALLOWED = ("/dev/null", "/dev/shm/", "/proc/self/")


@dataclass
class Said:
    """How one command ended."""

    code: int | None
    text: str
    trace: str = ""
    """A traceback that a user would have seen."""


class Writes:
    """An audit hook that notes files opened for writing, made, renamed or removed outside a folder."""

    def __init__(self, *folders: Path):
        self.folders = tuple(f"{folder.resolve()}/" for folder in folders)
        self.found: list[str] = []
        self.watching = False
        sys.addaudithook(self)

    def __call__(self, event: str, args: tuple[Any, ...]) -> None:
        if self.watching and (path := _written(event, args)) is not None:
            full = os.path.abspath(path)
            if not f"{full}/".startswith(self.folders) and not full.startswith(ALLOWED) and "__pycache__" not in full:
                self.found.append(f"{event} {full}")


def _written(event: str, args: tuple[Any, ...]) -> str | None:
    if event == "open":
        path, _, flags = args
        changes = isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        return os.fsdecode(path) if changes and isinstance(path, str | bytes) else None
    if event in ("os.mkdir", "os.remove", "os.rmdir", "os.chmod", "os.truncate"):
        return os.fsdecode(args[0]) if isinstance(args[0], str | bytes) else None
    if event in ("os.rename", "os.link", "os.symlink"):
        return os.fsdecode(args[1]) if isinstance(args[1], str | bytes) else None
    return f"/{event}" if event == "os.system" else None


def say(arguments: list[str]) -> Said:
    """Run `proctor ARGUMENTS` as its entry point does."""
    from proctor.cli import main

    output = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    saved, code, trace = sys.argv, None, ""
    sys.argv = ["proctor", *arguments]
    try:
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    except BaseException:
        trace = traceback.format_exc()
    finally:
        sys.argv = saved
    found = output.buffer.getvalue().decode(errors="replace")  # type: ignore[attr-defined]
    if not trace and "Traceback (most recent call last)" in found:
        trace = found
    return Said(code, found, trace)
