"""Objects on their way between two processes of one interpreter: pickles through a socket, large arrays through a tray.

Pickles are for a process and the one that it has started by itself, with the same modules; whatever may be of another
interpreter speaks as `proctor_host.codec` does.
"""

from __future__ import annotations

import pickle
import socket
import struct
from contextlib import suppress
from typing import Any

import numpy as np

from proctor_host.board import LARGE, Tray
from proctor_host.channel import Closed

_HEADER = struct.Struct("<QI")
_PLACE = struct.Struct("<QQ")


class Parcels:
    """One end. `out` is the tray for what is sent from here, `into` the one that the other end lays things on; None:
    everything goes through the socket. What was received from a tray is good until the next call of `receive`."""

    def __init__(self, sock: socket.socket, out: Tray | None, into: Tray | None):
        self._sock, self._out, self._into = sock, out, into

    def send(self, value: Any) -> None:
        """Raises Closed where the other end is gone."""
        large: list[np.ndarray] = []

        def small(buffer: pickle.PickleBuffer) -> bool:
            raw = buffer.raw()
            if self._out is None or raw.nbytes < LARGE:
                return True
            large.append(np.frombuffer(raw, np.uint8))
            return False

        text = pickle.dumps(value, protocol=5, buffer_callback=small)
        places = b""
        if self._out is not None:
            self._out.clear()
            places = b"".join([_PLACE.pack(self._out.put(array), array.nbytes) for array in large])
        try:
            self._sock.sendall(_HEADER.pack(len(text), len(large)) + places + text)
        except OSError:
            raise Closed from None

    def receive(self, seconds: float | None = None) -> Any:
        """The next object, which is waited for, for so long. Raises Closed where none will come."""
        self._sock.settimeout(seconds)
        size, count = _HEADER.unpack(self._take(_HEADER.size))
        places = self._take(_PLACE.size * count)
        text = self._take(size)
        laid = [self._laid(*place) for place in _PLACE.iter_unpack(places)]
        self._sock.settimeout(None)
        return pickle.loads(text, buffers=laid)

    def _laid(self, start: int, size: int) -> Any:
        if self._into is None:
            raise Closed("an array that lies nowhere")
        return self._into.get(start, np.dtype(np.uint8), (size,))

    def _take(self, size: int) -> bytearray:
        found = bytearray(size)
        view, at = memoryview(found), 0
        while at < size:
            try:
                came = self._sock.recv_into(view[at:])
            except OSError:
                raise Closed from None
            if not came:
                raise Closed
            at += came
        return found

    def hang_up(self) -> None:
        """Whoever sends or receives here finds it closed; on any thread."""
        with suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Let go of the socket and the trays, which nobody uses."""
        self._sock.close()
        for tray in (self._out, self._into):
            if tray is not None:
                tray.close()
