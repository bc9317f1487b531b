"""Policies that a worker asks elsewhere, without its engine: the worker's end.

An agent may have *replicas*: servers, on this machine or another, each with the agent's policy and its lanes. The
engine says where they are (`Consult`, the best place first); the worker has one *line* to one of them for each agent.
A trial that begins takes a *seat* there, asks with its observations, and gets chunks of actions back, or the news that
its policy has ended it. The worker steps meanwhile.

A line that is lost is nobody's fault: its trials are let go of (`Adrift`) and start again, on a line to whichever
replica answers then. Which trials had asked without an answer is said, since one of them may be what killed the
replica.
"""

from __future__ import annotations

import contextlib
import select
import socket
import threading
import time
from typing import TYPE_CHECKING, Any, Sequence

import numpy as np

from proctor_host import __version__
from proctor_host.board import Board, SharedBoard
from proctor_host.channel import Channel, Closed
from proctor_host.codec import Codec
from proctor_host.handshake import Lapse, Refusal, introduce, split_address
from proctor_host.messages import Adrift, Asks, Consult, Finish, Leave, Run, Sees, Shows, Take, Trying

if TYPE_CHECKING:
    from proctor_host.group import Group
    from proctor_host.host import Host
    from proctor_host.trial import RunningTrial

CALL_S = 10.0
"""How long replicas are called until one answers."""
CONNECT_S = 3.0
"""How long one call may take."""
LOOK_MS = 20
"""How often is looked whether a call was answered."""
_CHUNK = 1 << 20
_PAUSE_S = 0.2
_MOST_SEATS = 60_000
"""Numbers of seats; far more than there are slots."""


class Seat:
    """What a trial asks of a policy elsewhere. `asks`: it waits for an answer; `tried`: and nobody else is answered."""

    __slots__ = ("asks", "group", "line", "number", "slot", "tried")

    def __init__(self, line: Line, number: int, group: Group, slot: int):
        self.line, self.number, self.group, self.slot = line, number, group, slot
        self.asks = self.tried = False


class Line:
    """The connection to one replica of an agent; called when it is first needed, and again when it was lost."""

    def __init__(self, agent: str, board: Board):
        self.agent, self._board = agent, board
        self.places: Sequence[str] = ()
        self.token = b""
        self.seats: dict[int, Seat] = {}
        self.channel: Channel | None = None
        self.calling: _Calling | None = None
        self.outbox: list[Any] = []
        self.place = ""
        """Where it leads."""
        self.seen = False
        """Whether the replica looks at the worker's board."""
        self._next = 0

    def take(self, trial: RunningTrial, group: Group, slot: int) -> Seat:
        """A seat for a trial."""
        while self._next in self.seats or not self._next:
            self._next = (self._next + 1) % _MOST_SEATS
        seat = self.seats[self._next] = Seat(self, self._next, group, slot)
        self.outbox.append(Take(seat.number, trial.start.trial, slot, trial.start.alone))
        return seat

    def leave(self, seat: Seat) -> None:
        """The trial asks no more."""
        if self.seats.pop(seat.number, None) is not None:
            self.outbox.append(Leave(seat.number))

    def flush(self) -> str | None:
        """Send what has been gathered, or call where there is no connection. Why the line is lost, where it is."""
        if self.channel is None:
            return self._look()
        if self.outbox:
            outbox, self.outbox = self.outbox, []
            try:
                self.channel.send(outbox)
            except Closed:
                return f"the replica of agent {self.agent} is gone"
        return None

    def _look(self) -> str | None:
        if self.calling is None:
            if self.seats:
                self.calling = _Calling(self)
            else:
                self.outbox = []
            return None
        if self.calling.is_alive():
            return None
        calling, self.calling = self.calling, None
        if calling.sock is None:
            return f"no replica of agent {self.agent} can be reached: {calling.why}"
        self.channel, self.place = Channel(calling.sock, Codec(False, {}), _CHUNK), calling.place
        if isinstance(self._board, SharedBoard) and calling.sock.getpeername()[0] == calling.sock.getsockname()[0]:
            self.outbox.insert(0, Shows(self._board.shown()))
        return self.flush()

    def hear(self) -> tuple[list[Any], str | None]:
        """What the replica has answered, and why the line is lost, where it is."""
        found: list[Any] = []
        while self.channel is not None:
            try:
                messages = self.channel.receive(block=False)
            except Closed as why:
                return found, f"the replica of agent {self.agent} is gone{f' ({why})' if str(why) else ''}"
            found += messages
            if not messages or self.channel.drained:
                break
        return found, None

    def drop(self) -> list[Seat]:
        """The line is lost: who had a seat."""
        seats, self.seats, self.outbox = list(self.seats.values()), {}, []
        if self.channel is not None:
            self.channel.sock.close()
            self.channel, self.seen = None, False
        if self.calling is not None:
            self.calling.given_up.set()
            self.calling = None
        return seats


class Lines:
    """The lines of a worker, by agent."""

    def __init__(self, host: Host):
        self._host = host
        self.by_agent: dict[str, Line] = {}
        self._leaving: list[Line] = []
        """Lines to replicas that are asked only for the trials that have begun with them."""

    def consult(self, command: Consult) -> None:
        """An agent has replicas here. Trials that run stay with the replica that they have asked; those that begin from
        now on ask the first of these."""
        line = self.by_agent.get(command.agent)
        if line is not None and line.channel is not None and command.places and line.place != command.places[0]:
            self._leaving.append(line)
            line = None
        if line is None:
            line = self.by_agent[command.agent] = Line(command.agent, self._host.board)
        line.places, line.token = list(command.places), command.token

    @property
    def _all(self) -> list[Line]:
        return [*self.by_agent.values(), *self._leaving]

    def knows(self, agent: str) -> bool:
        return agent in self.by_agent

    def request(self, trial: RunningTrial) -> Seat:
        """A seat for a trial that begins."""
        return self.by_agent[trial.start.trial.agent].take(trial, trial.group, trial.start.slot)

    def ask(self, group: Group, slots: Sequence[int]) -> list[int]:
        """These slots need an action: ask for those that have a seat. The others."""
        others: list[int] = []
        asking: dict[Line, list[Seat]] = {}
        for slot in slots:
            seat = group.running[slot].request
            if type(seat) is Seat:
                seat.asks = True
                asking.setdefault(seat.line, []).append(seat)
            else:
                others.append(slot)
        layout, seen = group.task.layout, group.worlds.seen
        laid = SharedBoard.holds(layout)
        for line, seats in asking.items():
            if line.seen and laid:
                line.outbox.append([seat.number for seat in seats])
                continue
            shown = [
                seen[seat.slot] if layout is None else [np.array(column[seat.slot]) for column in seen]
                for seat in seats
            ]
            line.outbox.append(Asks([seat.number for seat in seats], shown))
        return others

    def flush(self) -> None:
        """Send what has been gathered."""
        for line in self._all:
            if why := line.flush():
                self._lose(line, why)
        for line in [line for line in self._leaving if not line.seats]:
            self._leaving.remove(line)
            line.drop()

    def wait(self, *fds: int) -> None:
        """Until there is something to read from one of these files, or a replica has said something."""
        poll, calling = select.poll(), False
        for fd in fds:
            poll.register(fd, select.POLLIN)
        for line in self._all:
            if line.channel is not None:
                poll.register(line.channel.fileno(), select.POLLIN)
            calling = calling or line.calling is not None
        poll.poll(LOOK_MS if calling else None)

    def hear(self) -> None:
        """Carry out what replicas have answered."""
        for line in self._all:
            if line.channel is not None:
                messages, why = line.hear()
                for message in messages:
                    if not self._carry_out(line, message):
                        why = why or f"the replica of agent {line.agent} says what nobody understands"
                if why:
                    self._lose(line, why)

    def _carry_out(self, line: Line, message: Any) -> bool:
        """Whether it is an answer. One for a seat that has been left is not wanted any more."""
        if type(message) is Run:
            found = [(row, line.seats[number]) for row, number in enumerate(message.slots) if number in line.seats]
            for _, seat in found:
                seat.asks = seat.tried = False
            if found:
                rows = [row for row, _ in found]
                whole = len(rows) == len(message.slots) or not isinstance(message.chunks, np.ndarray)
                self._host.run([seat.slot for _, seat in found], message.chunks if whole else message.chunks[rows])
        elif type(message) is Finish:
            seat = line.seats.get(message.slot)
            if seat is not None:
                self._host.end(seat.slot, message.outcome, message.error)
        elif type(message) is Sees:
            line.seen = message.board
        elif type(message) is Trying:
            seat = line.seats.get(message.seat)
            if seat is not None:
                seat.tried = True
        else:
            return False
        return True

    def _lose(self, line: Line, why: str) -> None:
        answered = line.channel is not None
        for seat in line.drop():
            if seat.slot in seat.group.running and seat.group.running[seat.slot].request is seat:
                seat.group.drift(seat.slot)
                self._host.emit(Adrift(seat.slot, why, answered and seat.asks, answered and seat.tried))

    def close(self) -> None:
        for line in self._all:
            line.drop()
        self.by_agent, self._leaving = {}, []


class _Calling(threading.Thread):
    """Calls a line's places in turn until one answers. When it has ended there is a socket, or it says why not."""

    def __init__(self, line: Line):
        super().__init__(name="calling a replica", daemon=True)
        self.sock: socket.socket | None = None
        self.place, self.why = "", "there is none"
        self.given_up = threading.Event()
        self._line = line
        self.start()

    def run(self) -> None:
        until = time.monotonic() + CALL_S
        while not self.given_up.is_set():
            for place in list(self._line.places):
                sock = self._call(place)
                if sock is None:
                    continue
                if self.given_up.is_set():
                    sock.close()
                else:
                    self.sock, self.place = sock, place
                return
            if time.monotonic() > until or self.given_up.wait(_PAUSE_S):
                return

    def _call(self, place: str) -> socket.socket | None:
        sock = None
        try:
            sock = socket.create_connection(split_address(place), timeout=CONNECT_S)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            introduce(sock, self._line.token, __version__)
            sock.settimeout(None)
            return sock
        except (OSError, Lapse, Refusal) as problem:
            self.why = f"{place}: {getattr(problem, 'strerror', None) or problem}"
            if sock is not None:
                with contextlib.suppress(OSError):
                    sock.close()
            return None
