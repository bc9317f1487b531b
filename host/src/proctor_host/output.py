"""What workers print: the first and the last of it, in the run's `workers.log`."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

NAME = "workers.log"
HALF = 1 << 19
"""Bytes that are kept of the beginning, and of the end, of what one worker prints."""
MOST = 1 << 25
"""A file that has grown to so many bytes is put aside for a new one."""
_TAIL_LINES, _TAIL_BYTES = 10, 4096


class Output:
    """Of one worker, to a file. The beginning is written as it comes, the end by `close`. What cannot be written, on a
    full disk, is left out: a worker never waits for its log."""

    def __init__(self, fd: int):
        self._fd = fd
        self._left = HALF
        self._end = bytearray()
        self._dropped = 0

    def add(self, data: bytes) -> None:
        begins, rest = data[: self._left], data[self._left :]
        if begins:
            self._left -= len(begins)
            self._write(begins)
        self._end += rest
        if len(self._end) >= 2 * HALF:
            self._drop()

    def _drop(self) -> None:
        excess = len(self._end) - HALF
        if excess > 0:
            self._dropped += excess
            del self._end[:excess]

    def close(self) -> None:
        self._drop()
        if self._dropped:
            self._write(b"\n[%d bytes that this worker printed are left out here]\n" % self._dropped)
        self._write(self._end)

    def _write(self, data: bytes | bytearray) -> None:
        with contextlib.suppress(OSError):
            while data:
                data = data[os.write(self._fd, data) :]


def open_log(folder: Path) -> int:
    """The run's log, open to be written at its end. A log that has become long becomes `workers.log.1`, in the place of
    an older one."""
    path = folder / NAME
    with contextlib.suppress(FileNotFoundError):
        if path.lstat().st_size > MOST:
            path.replace(path.with_name(f"{NAME}.1"))
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o666)


def last_lines(folder: Path) -> str:
    """The end of the run's log, some lines; empty where nothing was printed."""
    try:
        with (folder / NAME).open("rb") as file:
            file.seek(max(file.seek(0, os.SEEK_END) - _TAIL_BYTES, 0))
            text = file.read().decode(errors="replace")
    except OSError:
        return ""
    return "\n".join(text.splitlines()[-_TAIL_LINES:]).strip()
