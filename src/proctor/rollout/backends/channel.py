"""The control pipe between the engine and a worker process: lists of small messages over a socket, and a block of
shared memory for what is large.

The block is an unnamed file in memory, inherited by the worker: it has no name to leak and goes when the last process
that maps it goes, however that process ends. It is sparse: only touched pages cost memory.
"""

from __future__ import annotations

import mmap
import os
import pickle
import socket
import struct
import tempfile
from typing import Any

import numpy as np

from proctor.rollout.layout import Layout
from proctor.rollout.worker.pulse import NBYTES as PULSE_BYTES
from proctor.rollout.worker.pulse import Pulse

_HEADER = struct.Struct("<I")
_CONTROL_BYTES = 4096
_CHUNK = 1 << 16
OBSERVATION_BYTES = 32 << 20
ACTION_BYTES = 1 << 20


Place = tuple[str, tuple[int, ...]]
"""Dtype and shape of a chunk in shared memory."""


class Closed(Exception):
    """The other side is gone."""


class Channel:
    """Messages in order, in lists. `send` blocks while the pipe is full; `receive` returns what has arrived."""

    def __init__(self, sock: socket.socket):
        self.sock = sock
        self._buffer = bytearray()
        self._chunk = memoryview(bytearray(_CHUNK))
        self.drained = False
        """Whether the last `receive` took all there was; more may have come since."""

    def fileno(self) -> int:
        return self.sock.fileno()

    def send(self, messages: list[Any]) -> None:
        data = pickle.dumps(messages, protocol=pickle.HIGHEST_PROTOCOL)
        try:
            self.sock.sendall(_HEADER.pack(len(data)) + data)
        except OSError:
            raise Closed from None

    def receive(self, block: bool) -> list[Any]:
        """Messages that have arrived; with `block`, at least one. Raises Closed once everything has been read."""
        messages = self._unpack()
        while not messages:
            try:
                n = self.sock.recv_into(self._chunk, _CHUNK, 0 if block else socket.MSG_DONTWAIT)
            except BlockingIOError:
                return []
            except OSError:
                raise Closed from None
            if n == 0:
                raise Closed
            self._buffer += self._chunk[:n]
            messages = self._unpack()
            self.drained = n < _CHUNK
        return messages

    def _unpack(self) -> list[Any]:
        messages: list[Any] = []
        start = 0
        while len(self._buffer) - start >= _HEADER.size:
            (length,) = _HEADER.unpack_from(self._buffer, start)
            end = start + _HEADER.size + length
            if len(self._buffer) < end:
                break
            messages += pickle.loads(memoryview(self._buffer)[start + _HEADER.size : end])
            start = end
        if start:
            del self._buffer[:start]
        return messages


class SharedBlock:
    """The shared memory of one worker: its pulse, and per slot an observation and a chunk of actions."""

    def __init__(self, fd: int, slots: int):
        self.fd = fd
        self._slot_bytes = OBSERVATION_BYTES + ACTION_BYTES
        self._map = mmap.mmap(fd, _CONTROL_BYTES + slots * self._slot_bytes)
        self.pulse = Pulse(memoryview(self._map)[:PULSE_BYTES])
        self._chunks: list[np.ndarray | None] = [None] * slots

    @classmethod
    def create(cls, slots: int) -> SharedBlock:
        size = _CONTROL_BYTES + slots * (OBSERVATION_BYTES + ACTION_BYTES)
        fd = _unnamed_file()
        os.ftruncate(fd, size)
        return cls(fd, slots)

    def observation(self, slot: int, layout: Layout) -> list[np.ndarray] | None:
        """Views of the slot's observation, one per leaf; None where it does not fit."""
        if layout.nbytes > OBSERVATION_BYTES:
            return None
        return layout.views(self._map, _CONTROL_BYTES + slot * self._slot_bytes)

    @staticmethod
    def fits(actions: np.ndarray) -> bool:
        return actions.nbytes <= ACTION_BYTES and not actions.dtype.hasobject

    def put_actions(self, slot: int, actions: np.ndarray) -> Place | None:
        """Write a chunk that fits. What the reader needs to find it; None where it lies as the slot's last one did."""
        view = self._chunks[slot]
        if view is not None and view.shape == actions.shape and view.dtype == actions.dtype:
            view[...] = actions
            return None
        place = (actions.dtype.str, actions.shape)
        self._chunk(slot, place)[...] = actions
        return place

    def get_actions(self, slot: int, place: Place | None) -> np.ndarray:
        """A copy of the chunk."""
        view = self._chunks[slot] if place is None else self._chunk(slot, place)
        assert view is not None
        return view.copy()

    def _chunk(self, slot: int, place: Place) -> np.ndarray:
        """A view of the slot's actions. It is kept: chunks of a slot are mostly alike."""
        offset = _CONTROL_BYTES + slot * self._slot_bytes + OBSERVATION_BYTES
        dtype, shape = np.dtype(place[0]), place[1]
        view = np.frombuffer(self._map, dtype, int(np.prod(shape, dtype=np.int64)), offset).reshape(shape)
        self._chunks[slot] = view
        return view

    def close(self) -> None:
        """Give up the file; the memory goes once nobody holds a view of it."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


def _unnamed_file() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("proctor")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())
