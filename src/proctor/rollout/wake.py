"""Waking the engine's loop from another thread: a pipe that becomes readable, written at most once until it is read."""

from __future__ import annotations

import contextlib
import os


class Waker:
    def __init__(self) -> None:
        self.fd, self._write = os.pipe()
        os.set_blocking(self.fd, False)
        self._set = False
        self._closed = False

    def wake(self) -> None:
        """From any thread. What was queued before is seen by the loop after its next `clear`."""
        if not self._set and not self._closed:
            self._set = True
            with contextlib.suppress(OSError):
                os.write(self._write, b"\0")

    def clear(self) -> None:
        if self._set:
            with contextlib.suppress(BlockingIOError):
                os.read(self.fd, 16)
            self._set = False

    def close(self) -> None:
        self._closed = True
        os.close(self.fd)
        os.close(self._write)
