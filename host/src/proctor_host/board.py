"""Where slots leave what they see and find what to do: memory that the engine and a worker both know.

Observations of a task are columns: one array per leaf with a row per slot. A worker writes rows; whoever asks a policy
reads them. In one process that is ordinary memory; between two it is a block of shared memory in which every slot has a
stretch of its own, so that slots of different tasks never overlap, and columns are strided views over all stretches.

A tray is memory that two processes share for what is large in their messages: one writes, the other reads. What lies
there is good until the writer's next message with something large. The file has no name, and goes with the last process
that maps it.
"""

from __future__ import annotations

import mmap
import os
import tempfile
from typing import Any, Tuple

import numpy as np

from proctor_host.layout import Layout

OBSERVATION_BYTES = 32 << 20
ACTION_BYTES = 1 << 20
_SLOT_BYTES = OBSERVATION_BYTES + ACTION_BYTES
_PULSE_BYTES = 4096

Place = Tuple[str, Tuple[int, ...]]
"""Dtype and shape of each slot's chunk of actions."""


class Board:
    """In ordinary memory, for environments in the caller's process."""

    def __init__(self, slots: int):
        self.slots = slots
        self._columns: dict[Layout, list[np.ndarray]] = {}

    def columns(self, layout: Layout) -> list[np.ndarray]:
        """The observations of all slots, an array `(slots, *shape)` per leaf; the same arrays each time."""
        columns = self._columns.get(layout)
        if columns is None:
            columns = self._columns[layout] = self._make(layout)
        return columns

    def reaches(self, layout: Layout | None) -> bool:
        """Whether whoever asks a policy can read the columns of this layout."""
        return layout is not None

    def _make(self, layout: Layout) -> list[np.ndarray]:
        return [np.zeros((self.slots, *leaf.shape), leaf.dtype) for leaf in layout.leaves]


class SharedBoard(Board):
    """In shared memory: an unnamed file, inherited by the worker. It has no name to leak and goes when the last process
    that maps it goes, however that process ends. It is sparse: only touched pages cost memory. `shared` False: the
    engine is on another machine, looks at the pulse only, and gets observations by message."""

    def __init__(self, fd: int, slots: int, shared: bool = True):
        super().__init__(slots)
        self.fd, self._shared = fd, shared
        self._map = mmap.mmap(fd, _PULSE_BYTES + slots * _SLOT_BYTES)
        self._actions: dict[Place, np.ndarray] = {}

    @classmethod
    def create(cls, slots: int) -> SharedBoard:
        fd = unnamed_file()
        os.ftruncate(fd, _PULSE_BYTES + slots * _SLOT_BYTES)
        return cls(fd, slots)

    def shown(self) -> tuple[int, int, int, int, int]:
        """By what another process of this machine finds the file, if it may look: process, file, device and node of the
        file, slots."""
        said = os.fstat(self.fd)
        return os.getpid(), self.fd, said.st_dev, said.st_ino, self.slots

    @classmethod
    def seen(cls, shown: tuple[int, int, int, int, int]) -> SharedBoard | None:
        """The board that another process shows; None where it cannot be had from here."""
        pid, file, device, node, slots = shown
        try:
            fd = os.open(f"/proc/{int(pid)}/fd/{int(file)}", os.O_RDWR)
        except OSError:
            return None
        said = os.fstat(fd)
        if (said.st_dev, said.st_ino) != (device, node) or said.st_size < _PULSE_BYTES + slots * _SLOT_BYTES:
            os.close(fd)
            return None
        return cls(fd, slots)

    @property
    def pulse(self) -> memoryview:
        """The memory of the worker's pulse."""
        return memoryview(self._map)[:_PULSE_BYTES]

    def reaches(self, layout: Layout | None) -> bool:
        return self._shared and self.holds(layout)

    @staticmethod
    def holds(layout: Layout | None) -> bool:
        """Whether the columns of this layout lie in the file."""
        return layout is not None and layout.nbytes <= OBSERVATION_BYTES

    def _make(self, layout: Layout) -> list[np.ndarray]:
        if not self.holds(layout):
            return super()._make(layout)
        return [self._strided(leaf.dtype, leaf.shape, leaf.offset) for leaf in layout.leaves]

    @staticmethod
    def fits(chunks: np.ndarray) -> bool:
        """Whether chunks, one per slot along the first axis, can be written here."""
        return chunks[0].nbytes <= ACTION_BYTES and not chunks.dtype.hasobject

    def actions(self, place: Place) -> np.ndarray:
        """The chunks of all slots, `(slots, horizon, *action)`."""
        view = self._actions.get(place)
        if view is None:
            view = self._actions[place] = self._strided(np.dtype(place[0]), place[1], OBSERVATION_BYTES)
        return view

    def _strided(self, dtype: np.dtype[Any], shape: tuple[int, ...], offset: int) -> np.ndarray:
        inner = np.empty(shape, dtype).strides
        where = _PULSE_BYTES + offset
        return np.ndarray((self.slots, *shape), dtype, self._map, where, (_SLOT_BYTES, *inner))

    def close(self) -> None:
        """Give up the file; the memory goes once nobody holds a view of it."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


def unnamed_file() -> int:
    """A file in memory, which goes with the last process that has it."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("proctor")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


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
