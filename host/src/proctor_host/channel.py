"""The control pipe between the engine and a worker: frames of small messages over a socket. What is large lies on the
board, in shared memory, where both are on one machine."""

from __future__ import annotations

import socket
import struct
from typing import Any

from proctor_host.codec import Codec

_HEADER = struct.Struct("<I")
_CHUNK = 1 << 16
MOST_BYTES = (1 << 32) - 1
"""Of a frame."""


class Closed(Exception):
    """The other side is gone, or says what nobody understands."""


class Channel:
    """Messages in order, in lists. `send` blocks while the pipe is full; `receive` returns what has arrived."""

    def __init__(self, sock: socket.socket, codec: Codec, chunk: int = _CHUNK):
        self.sock, self.codec = sock, codec
        self._buffer = bytearray()
        self._chunk = memoryview(bytearray(chunk))
        self.drained = False
        """Whether the last `receive` took all there was; more may have come since."""

    def fileno(self) -> int:
        return self.sock.fileno()

    def send(self, messages: list[Any]) -> None:
        data = self.codec.pack(messages)
        if len(data) > MOST_BYTES:
            raise ValueError(f"a message of {len(data):,} bytes is too large to be sent; record less of it")
        try:
            self.sock.sendall(_HEADER.pack(len(data)) + data)
        except OSError:
            raise Closed from None

    def first(self) -> list[Any]:
        """The messages of the first frame alone, which is waited for: what follows may have to be read otherwise."""
        while len(self._buffer) < _HEADER.size or len(self._buffer) < self._end(0):
            self._fill(block=True)
        return self._unpack(most=1)

    def receive(self, block: bool) -> list[Any]:
        """Messages that have arrived; with `block`, at least one. Raises Closed once everything has been read."""
        messages = self._unpack()
        while not messages:
            n = self._fill(block)
            if n == 0:
                return []
            messages = self._unpack()
            self.drained = n < len(self._chunk)
        return messages

    def _fill(self, block: bool) -> int:
        """Take what has arrived: how many bytes. Raises Closed where nothing will come any more."""
        try:
            n = self.sock.recv_into(self._chunk, 0, 0 if block else socket.MSG_DONTWAIT)
        except BlockingIOError:
            return 0
        except OSError:
            raise Closed from None
        if n == 0:
            raise Closed
        self._buffer += self._chunk[:n]
        return n

    def _end(self, start: int) -> int:
        """Where the frame that begins at `start` ends."""
        (length,) = _HEADER.unpack_from(self._buffer, start)
        return start + _HEADER.size + length

    def _unpack(self, most: int = -1) -> list[Any]:
        messages: list[Any] = []
        start = 0
        while most and len(self._buffer) - start >= _HEADER.size:
            end = self._end(start)
            if len(self._buffer) < end:
                break
            most -= 1
            with memoryview(self._buffer) as view:
                frame = view[start + _HEADER.size : end].tobytes()
            try:
                messages += self.codec.unpack(memoryview(frame))
            except ValueError as problem:
                raise Closed(str(problem)) from problem
            start = end
        if start:
            del self._buffer[:start]
        return messages
