"""Who asks a replica: workers, with a seat for each trial that they have there."""

from __future__ import annotations

import socket
from typing import Any

from proctor.rollout.ask.requests import Request
from proctor.rollout.pace import Pace
from proctor.rollout.tasks import Task
from proctor_host.board import SharedBoard
from proctor_host.channel import Channel, Closed
from proctor_host.codec import Codec
from proctor_host.handshake import HEADER
from proctor_host.messages import Take

_CHUNK = 1 << 20


class Seat:
    """A trial of a caller. `asks`: it waits for an answer; otherwise the caller steps it."""

    __slots__ = ("alone", "asks", "caller", "number", "request", "row", "ticket")

    def __init__(self, caller: Caller, said: Take, task: Task, stage: str):
        self.caller, self.number, self.row, self.alone = caller, said.seat, said.row, said.alone
        self.request = Request(self, said.trial, task, stage)
        self.ticket = 0
        self.asks = False


class Caller:
    """A worker that asks. What is sent to it and does not fit into the socket now goes later."""

    def __init__(self, sock: socket.socket):
        self._codec = Codec(False, {})
        self.channel = Channel(sock, self._codec, _CHUNK)
        self.seats: dict[int, Seat] = {}
        self.outbox: list[Any] = []
        self.board: SharedBoard | None = None
        """Where its observations lie, if it is on this machine."""
        self._pace = Pace()
        self._bytes = bytearray()

    def heard(self, seats: int, now: float) -> None:
        """So many seats ask."""
        self._pace.heard(seats, now)

    def spare_s(self, now: float) -> float:
        """About how long until it has nothing to step for us."""
        return self._pace.spare_s(sum(not seat.asks for seat in self.seats.values()), now)

    def flush(self) -> None:
        """Send what can be sent now. Raises Closed where nobody is there any more."""
        if self.outbox:
            frame = self._codec.pack(self.outbox)
            self.outbox = []
            self._bytes += HEADER.pack(len(frame)) + frame
        while self._bytes:
            try:
                sent = self.channel.sock.send(self._bytes, socket.MSG_DONTWAIT)
            except BlockingIOError:
                return
            except OSError:
                raise Closed from None
            del self._bytes[:sent]

    @property
    def waits(self) -> bool:
        """Whether something is still to be sent."""
        return bool(self._bytes)


def current(request: Request) -> bool:
    """Whether the seat still waits for this request."""
    return request.owner.ticket == request.ticket
