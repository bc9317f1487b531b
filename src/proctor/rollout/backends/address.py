"""Workers behind an address: environments that `proctor host serve` offers in a container or on another machine.

The messages are those of a worker process. What is large travels with them: observations come with the questions,
records with the news that a trial is done, and are written here before it counts. What such a worker does at the moment
is told by its server, several times a second.

A connection that is lost is nobody's fault: the trials that ran there start again, on a new connection, for which a
thread of its own calls until `RECONNECT_S` are over; other workers go on meanwhile. What cannot be mended by calling
again (a wrong token, another protocol) ends the run with a sentence that says so.
"""

from __future__ import annotations

import contextlib
import select
import socket
import struct
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from proctor import __version__, threads
from proctor.config.models import RuntimeCfg
from proctor.errors import InputError, ProctorError, RunError
from proctor.rollout.backends.base import Backend, BackendOptions, Lost, Worker
from proctor.rollout.backends.channel import ChannelWorker, ending_of, hello
from proctor.rollout.tasks import Task
from proctor_host.cfg import WorkerCfg
from proctor_host.channel import Channel, Closed
from proctor_host.codec import PROTOCOL, Codec
from proctor_host.handshake import Lapse, Refusal, introduce, read_token, split_address
from proctor_host.layout import Layout
from proctor_host.limits import IDLE, limit_of
from proctor_host.messages import FREED, Asks, Command, Done, Event, Fault, Know

FIRST_S, RECONNECT_S = 5.0, 10.0
"""How long a host is called that has not answered yet, and one that has."""
CONNECT_S = 5.0
"""How long one call may take to be answered."""
SILENT_S = 15.0
"""A host of which nothing is heard for so long, though it tells several times a second what it does, is gone."""
SEND_S = 30
_LONGEST_PAUSE_S = 2.0


@dataclass(frozen=True)
class Connection:
    """To a host that knows the token. `workers`: how many it allows, of all engines together."""

    sock: socket.socket
    workers: int


class Way(Protocol):
    """How a worker's host is found and called."""

    address: str

    def call(self, seconds: float, cancelled: threading.Event | None = None) -> Connection:
        """A connection. Raises InputError for what calling again does not mend, and RunError where nobody answers."""
        ...


class Place:
    """Where a host is served. Raises InputError where the config does not say how to call it."""

    def __init__(self, runtime: RuntimeCfg):
        assert runtime.address is not None
        self.address = runtime.address
        self._where = split_address(runtime.address)
        if runtime.token_file is None:
            raise InputError(
                f"the host at {self.address} wants a token; write runtime: {{address: ..., token_file: FILE}} with a "
                "copy of the file that `proctor host serve` was given"
            )
        self._token = read_token(runtime.token_file)

    def __str__(self) -> str:
        return f"the host at {self.address}"

    def call(self, seconds: float, cancelled: threading.Event | None = None) -> Connection:
        """Call for so long until somebody answers who has a worker to give. Raises InputError for what calling again
        does not mend, and RunError where nobody answers."""
        until, pause = time.monotonic() + seconds, 0.1
        while True:
            try:
                return connected(self._where, self._token)
            except Refusal as refusal:
                if not refusal.busy:
                    raise InputError(self._refused(refusal)) from None
                why = f"{refusal}, by other runs or by one that has just ended"
            except (OSError, Lapse) as problem:
                why = str(getattr(problem, "strerror", None) or problem)
            if time.monotonic() + pause > until or (cancelled is not None and cancelled.wait(pause)):
                raise RunError(f"{self} cannot be had: {why}. {self._advice()}")
            if cancelled is None:
                time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_S)

    def _refused(self, refusal: Refusal) -> str:
        if refusal.protocol is not None:
            return (
                f"{self} is proctor-host {refusal.version} and speaks protocol {refusal.protocol}; this is proctor "
                f"{__version__}, which speaks {PROTOCOL}: install the same version on both sides"
            )
        return f"{self} refuses this engine: {refusal}; token_file must hold the text that the host was started with"

    def _advice(self) -> str:
        return (
            f"See that it is served there (proctor host serve ENTRY --address {self.address} --token-file FILE), that "
            "the address is right, and that a firewall lets it through"
        )


def connected(where: tuple[str, int], token: bytes) -> Connection:
    """Call once. Raises OSError, Lapse or Refusal."""
    sock = socket.create_connection(where, timeout=CONNECT_S)
    try:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        said = introduce(sock, token, __version__)
        sock.settimeout(None)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", SEND_S, 0))
        return Connection(sock, said["workers"])
    except BaseException:
        sock.close()
        raise


class AddressBackend(Backend):
    """Workers behind an address: as many as the config asks for and the host allows, each with its own connection."""

    name: ClassVar[str] = "address"

    def __init__(self, cfg: WorkerCfg, runtime: RuntimeCfg):
        super().__init__(cfg, BackendOptions())
        self._place = Place(runtime)
        self._first: Connection | None = None

    def shares(self, slots: int, count: int | None) -> list[int]:
        """Asks the host. Raises InputError where it cannot be had."""
        try:
            self._first = self._place.call(FIRST_S)
        except RunError as error:
            raise InputError(str(error)) from None
        return super().shares(slots, min(count or self._first.workers, self._first.workers))

    def hire(self, slots: int) -> Worker:
        first, self._first = self._first, None
        return AddressWorker(self.cfg, slots, self._place, first)


class AddressWorker(ChannelWorker):
    """The engine's end of a worker elsewhere. Without a connection, one is called for; until there is one, what is sent
    waits."""

    has_policies = False

    def __init__(self, cfg: WorkerCfg, slots: int, place: Way, connection: Connection | None):
        super().__init__(cfg, slots)
        self._place = place
        self.called = f"a worker of {place}"
        self._pulse: tuple[float, int, float] = (IDLE, 0, 0.0)
        self._ended: int | None = None
        self._layouts: dict[str, Layout | None] = {}
        self._heard = time.monotonic()
        self._connected = False
        self._calling: _Calling | None = None
        if connection is not None:
            self._begin(connection)
        else:
            self._calling = _Calling(place)

    def _begin(self, connection: Connection) -> None:
        self._channel = Channel(connection.sock, Codec(self.has_policies, self._cfg.tasks))
        self._started = self._heard = time.monotonic()
        self._connected = True
        self._tell([self._hello()])
        self.flush()

    def _hello(self) -> dict[str, Any]:
        return hello(self._cfg, self.slots, shared=False, threads=threads.wanted())

    def _look(self) -> None:
        """Whether the call was answered. Raises what ended it."""
        calling = self._calling
        if calling is not None and not calling.is_alive():
            self._calling = None
            if calling.problem is not None:
                self._closed = True
                if isinstance(calling.problem, InputError):
                    raise calling.problem
                again = f"Finished trials are safe; when it is there again: proctor resume {self._cfg.folder}"
                raise RunError(f"{calling.problem}.\n{again}")
            assert calling.connection is not None
            self._begin(calling.connection)

    def columns(self, task: Task) -> Sequence[Any]:
        return ()  # observations come with the questions

    def flush(self) -> None:
        if self._connected:
            super().flush()

    def events(self) -> list[Event]:
        self._look()
        found = super().events() if self._connected else []
        if all(map(self._makes_sense, found)):
            return found
        self._closed = True
        return []

    def _makes_sense(self, event: Event) -> bool:
        """Whether an event is about slots that there are, and shows observations that are as their space says: what a
        policy makes of others would be the policy's fault."""
        slots = event.slots if isinstance(event, Asks) else [getattr(event, "slot", 0)]
        if isinstance(event, Done | Fault) and slots == [FREED]:
            return True
        if not all(type(slot) is int and 0 <= slot < self.slots for slot in slots):
            return False
        if not isinstance(event, Asks):
            return True
        shown = event.shown if isinstance(event.shown, list) else []
        return len(shown) == len(slots) and all(map(self._as_described, slots, shown))

    def _as_described(self, slot: int, shown: Any) -> bool:
        start = self._starts.get(slot)
        layout = None if start is None else self._layouts.get(start.trial.task)
        if layout is None:
            return start is not None
        kinds = [(leaf.dtype, leaf.shape) for leaf in layout.leaves]
        return isinstance(shown, list) and kinds == [
            (one.dtype, one.shape) for one in shown if isinstance(one, np.ndarray)
        ]

    def send(self, command: Command) -> None:
        super().send(command)
        if isinstance(command, Know):
            self._layouts = {task.name: task.layout for task in command.tasks}

    def fileno(self) -> int | None:
        return super().fileno() if self._connected else None

    def _told(self, said: Mapping[str, Any]) -> None:
        self._heard = time.monotonic()
        if "pulse" not in said:
            super()._told(said)
            return
        try:
            what, slot, seconds = said["pulse"]
            if what != IDLE:
                limit_of(what, self._cfg.limits)
            self._pulse = float(what), int(slot), float(seconds)
            self._ended = None if said.get("ended") is None else int(said["ended"])
        except (ValueError, TypeError, KeyError, OverflowError):
            self._closed = True  # it speaks nonsense

    def _running(self) -> tuple[float, int, float]:
        return self._pulse

    def _gone(self) -> bool:
        if self._closed:
            self._hear_last_words()
        return self._closed or self._silent()

    def _hear_last_words(self) -> None:
        """How a worker ended may have come before the sending of something failed."""
        with contextlib.suppress(Closed):
            while messages := self._channel.receive(block=False):
                for said in messages:
                    if type(said) is dict and "ended" in said:
                        self._told(said)

    def _silent(self) -> bool:
        """Whether nothing has come for long, and nothing waits to be read: the engine may have been busy itself."""
        if time.monotonic() - self._heard < SILENT_S:
            return False
        readable = select.poll()
        readable.register(self._channel.fileno(), select.POLLIN)
        return not readable.poll(0)

    def lost(self) -> Lost | None:
        self._look()
        return super().lost() if self._connected else None

    def _ending(self, during: str, slot: int | None, acting: bool) -> Lost:
        if self._ended is not None:
            return Lost(f"{self.called} {ending_of(self._ended)}{during}", slot, False, acting)
        return Lost(f"the connection to {self._place} was lost", None, False)

    def kill(self) -> None:
        """The server ends the worker when the connection ends."""
        self._closed = True
        if self._calling is not None:
            self._calling.give_up()
            self._calling = None
        if self._connected:
            with contextlib.suppress(OSError):
                self._channel.sock.shutdown(socket.SHUT_RDWR)
            self._channel.sock.close()


class _Calling(threading.Thread):
    """Calls a host until it answers, on a thread of its own. When that has ended there is a connection, or a
    problem."""

    def __init__(self, place: Way):
        super().__init__(name=f"calling {place.address}", daemon=True)
        self.connection: Connection | None = None
        self.problem: ProctorError | None = None
        self._place = place
        self._lock, self._cancelled = threading.Lock(), threading.Event()
        self.start()

    def run(self) -> None:
        try:
            connection = self._place.call(RECONNECT_S, self._cancelled)
        except ProctorError as problem:
            self.problem = problem
            return
        with self._lock:
            self.connection = connection
            if self._cancelled.is_set():
                connection.sock.close()

    def give_up(self) -> None:
        """Nobody waits for it any more."""
        with self._lock:
            self._cancelled.set()
            if self.connection is not None:
                self.connection.sock.close()
