"""Records go to disk beside the steps: a disk takes milliseconds to say that a file will survive a crash.

The stepping thread packs a record, since that needs the interpreter, and hands over its bytes. Threads write and sync
them, several at a time: a file system syncs many files together in about the time of one. What has been written is
reported by the stepping thread again, so that a trial never counts as done before its arrays are durable.
"""

from __future__ import annotations

import os
import queue
import threading
from collections import deque
from pathlib import Path
from typing import Callable, NamedTuple, Optional

from proctor_host.files import write_synced

MOST = 8
"""Files that are written at the same time."""

Written = Callable[[Optional[BaseException]], None]
"""What to do once a file is on disk, or cannot be written for this reason."""


class File(NamedTuple):
    """What is to be written, and where."""

    path: Path
    data: bytes


class Writer:
    """`beside`: files are written on threads, which begin with the first file; else at once, by the caller."""

    def __init__(self, beside: bool):
        self._beside = beside
        self.written: deque[tuple[Written, BaseException | None]] = deque()
        """What is on disk, or failed, and has not been reported."""
        self.pending = 0
        """Files that have been handed over and not been reported."""
        self.fd = -1
        """A file that can be read from when there is something to report; -1 until the first file is written."""
        self._wake = -1
        self._work: queue.SimpleQueue[tuple[File, Written]] = queue.SimpleQueue()
        self._threads = 0

    def write(self, file: File, then: Written) -> None:
        """Write a file, and have `then` called by `report`, or at once."""
        if not self._beside:
            then(_problem_of(file))
            return
        self.pending += 1
        self._work.put((file, then))
        if self._threads < min(self.pending, MOST):
            self._begin()

    def report(self) -> None:
        """Say what has been written since the last time; wait for one file where none has."""
        for _ in os.read(self.fd, MOST):
            then, problem = self.written.popleft()
            self.pending -= 1
            then(problem)

    def finish(self) -> None:
        """Wait until everything has been written, and report it."""
        while self.pending:
            self.report()

    def _begin(self) -> None:
        if self.fd < 0:
            self.fd, self._wake = os.pipe()
        self._threads += 1
        threading.Thread(target=self._serve, name="proctor-writer", daemon=True).start()

    def _serve(self) -> None:
        while True:
            file, then = self._work.get()
            problem = _problem_of(file)
            self.written.append((then, problem))
            os.write(self._wake, b"\0")


def _problem_of(file: File) -> BaseException | None:
    try:
        write_synced(file.path, file.data)
    except Exception as problem:
        return problem
    return None
