"""Memory that two processes share for what is large in their messages: one writes, the other reads.

What lies there is good until the writer's next message with something large. The file has no name, and goes with the
last process that maps it.
"""

from __future__ import annotations

import mmap
import os
from typing import Any

import numpy as np

from proctor_host.board import unnamed_file

LARGE = 1 << 14
"""Bytes from which on an array is laid here and not sent."""
_ALIGNED = 64


class Tray:
    """One end. `copies`: whoever reads keeps what it reads."""

    def __init__(self, fd: int, copies: bool = False):
        self.fd, self._copies = fd, copies
        self._map: Any = None
        self._size = self._used = 0

    @classmethod
    def create(cls, copies: bool = False) -> Tray:
        return cls(unnamed_file(), copies)

    def clear(self) -> None:
        """What lies here is needed no more."""
        self._used = 0

    def put(self, array: np.ndarray) -> int:
        """Lay an array down; where."""
        start = self._used
        self._used = -(-(start + array.nbytes) // _ALIGNED) * _ALIGNED
        if self._used > self._size:
            self._grow(max(self._used, 2 * self._size))
        np.ndarray(array.shape, array.dtype, self._map, start)[...] = array
        return start

    def _grow(self, size: int) -> None:
        os.ftruncate(self.fd, size)
        self._map, self._size = mmap.mmap(self.fd, size), size

    def get(self, start: int, dtype: np.dtype[Any], shape: Any) -> np.ndarray:
        """What lies somewhere. Raises ValueError or TypeError where nothing can."""
        size = os.fstat(self.fd).st_size
        if self._map is None or size > self._size:
            self._map, self._size = mmap.mmap(self.fd, size), size
        found = np.ndarray(tuple(shape), dtype, self._map, start)
        return found.copy() if self._copies else found

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1
