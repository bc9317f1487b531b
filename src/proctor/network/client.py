"""A client of a policy server: many requests at once over several connections.

A connection carries one request at a time, as the protocol demands; `ask` spreads its requests over as many connections
as it has requests, up to a limit, opened when first needed. What happens on the network happens on one thread of the
client's own. A lost connection is opened again, with growing pauses, when the next request needs it: a request is never
sent twice.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from proctor.errors import InputError, MissingExtra, optional
from proctor.network.fields import ANNOUNCED, VERSION
from proctor.network.wire import WireError, decode

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.1, 5.0
CLOSED = "the client was closed"


@dataclass(frozen=True)
class ClientCfg:
    """Where the server is, and how patient to be (seconds)."""

    url: str
    api_key: str | None = None
    connections: int = 16
    connect_s: float = 10.0
    """For the first connection, its greeting included; also for each further attempt."""
    timeout_s: float = 60.0
    """For one request, from sending it to its answer."""
    reconnect_s: float = 50.0
    """For a lost server to come back."""
    max_frame_bytes: int = 256 << 20


class ServerError(Exception):
    """The server's policy broke on a request; the text is what the server sent, usually a traceback."""


class ServerLost(Exception):
    """No answer came, and the policy is not to blame: the server is gone, silent, or speaks something else."""


class Refused(ServerLost):
    """The server is there and will not have us: asking again is of no use."""


Reply = dict[Any, Any] | ServerError | ServerLost


class Client:
    """Connected when made: raises InputError where no server that speaks the protocol is found. May be used from
    several threads."""

    def __init__(self, cfg: ClientCfg):
        self.cfg = cfg
        self._pool = _Pool(cfg)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proctor-remote", daemon=True)
        self._thread.start()
        try:
            self.metadata = self._await(self._pool.greet())
        except (ServerLost, WireError) as problem:
            self.close()
            raise InputError(f"no policy server at {cfg.url}: {problem}") from None
        except BaseException:
            self.close()
            raise

    @property
    def losses(self) -> int:
        """How often the server has been lost so far."""
        return self._pool.losses

    @property
    def is_proctor(self) -> bool:
        return is_proctor(self.metadata)

    def ask(self, frames: Sequence[bytes]) -> list[Reply]:
        """An answer for every request, in order. Returns when all are there or given up."""
        if self._loop.is_closed():
            return [ServerLost(CLOSED)] * len(frames)
        return self._await(self._pool.ask(frames))

    def close(self) -> None:
        """Give up what is under way, close the connections and end the thread."""
        if not self._loop.is_closed():
            self._await(self._pool.close())
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    def _await(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


def is_proctor(metadata: dict[Any, Any]) -> bool:
    return metadata.get(ANNOUNCED) == VERSION


class _Connection:
    """An open one. `generation`: how many losses there had been when it was opened."""

    def __init__(self, socket: Any, generation: int):
        self.socket, self.generation = socket, generation

    async def close(self) -> None:
        """Never raises, and waits a second at most for the other side's goodbye."""
        await self.socket.close()


class _Pool:
    """The connections; everything here runs on the client's loop."""

    def __init__(self, cfg: ClientCfg):
        self.cfg, self.losses = cfg, 0
        self._idle: deque[_Connection] = deque()
        self._places = asyncio.Semaphore(cfg.connections)
        self._metadata: dict[Any, Any] | None = None

    async def greet(self) -> dict[Any, Any]:
        """Open the first connection; what the server says of itself."""
        self._idle.append(await self._open())
        assert self._metadata is not None
        return self._metadata

    async def ask(self, frames: Sequence[bytes]) -> list[Reply]:
        try:
            return await asyncio.gather(*(self._reply(frame) for frame in frames))
        except asyncio.CancelledError:
            return [ServerLost(CLOSED)] * len(frames)

    async def close(self) -> None:
        asked = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in asked:
            task.cancel()
        await asyncio.gather(*asked, return_exceptions=True)
        while self._idle:
            await self._idle.popleft().close()

    async def _reply(self, frame: bytes) -> Reply:
        try:
            async with self._places:
                return await self._request(frame)
        except (ServerError, ServerLost) as problem:
            return problem

    async def _request(self, frame: bytes) -> dict[Any, Any]:
        connection = await self._take()
        try:
            answer = await self._exchange(connection, frame)
        except BaseException:
            await connection.close()
            raise
        if isinstance(answer, str):
            await connection.close()
            raise ServerError(answer)
        self._idle.append(connection)
        return _message(answer, "an answer")

    async def _exchange(self, connection: _Connection, frame: bytes) -> str | bytes:
        from websockets.exceptions import ConnectionClosed

        try:
            async with asyncio.timeout(self.cfg.timeout_s):
                await connection.socket.send(frame)
                return await connection.socket.recv()
        except TimeoutError:
            raise ServerLost(f"{self.cfg.url} gave no answer within {self.cfg.timeout_s:g} s") from None
        except (ConnectionClosed, OSError) as problem:
            if connection.generation == self.losses:
                self.losses += 1
            raise ServerLost(f"the connection to {self.cfg.url} was lost: {_why(problem, self.cfg)}") from None

    async def _take(self) -> _Connection:
        """An open connection. One from before a loss is not trusted."""
        while self._idle:
            connection = self._idle.popleft()
            if connection.generation == self.losses:
                return connection
            await connection.close()
        return await self._reopen()

    async def _reopen(self) -> _Connection:
        clock = asyncio.get_running_loop().time
        until, pause = clock() + self.cfg.reconnect_s, FIRST_PAUSE_S
        while True:
            try:
                return await self._open()
            except Refused:
                raise
            except ServerLost as problem:
                left = until - clock()
                if left <= 0:
                    waited = f"{self.cfg.url} did not come back within {self.cfg.reconnect_s:g} s"
                    raise ServerLost(f"{waited}: {problem}") from None
            await asyncio.sleep(min(pause, left))
            pause = min(2 * pause, LONGEST_PAUSE_S)

    async def _open(self) -> _Connection:
        """Connect and hear the greeting, which must be the one heard first where the server is Proctor's."""
        cfg, generation = self.cfg, self.losses
        try:
            async with asyncio.timeout(cfg.connect_s):
                socket = await _connect(cfg)
                try:
                    greeting = await socket.recv()
                except BaseException:
                    await socket.close()
                    raise
        except TimeoutError:
            raise ServerLost(f"it was silent for {cfg.connect_s:g} s; a policy server speaks first") from None
        except ServerLost:
            raise
        except Exception as problem:
            raise _translated(problem, cfg) from None
        connection = _Connection(socket, generation)
        try:
            self._check_greeting(_message(greeting, "a greeting"))
        except BaseException:
            await connection.close()
            raise
        return connection

    def _check_greeting(self, metadata: dict[Any, Any]) -> None:
        if self._metadata is None:
            self._metadata = metadata
        elif is_proctor(self._metadata) and metadata != self._metadata:
            raise Refused(
                f"{self.cfg.url} now offers another policy than when this run began; serve the old one, or start a new "
                "run"
            )


def _message(frame: str | bytes, what: str) -> dict[Any, Any]:
    if isinstance(frame, str):
        raise ServerLost(f"found the text {frame[:80]!r}; expected {what} in msgpack")
    try:
        found = decode(frame)
    except WireError as problem:
        raise ServerLost(f"expected {what} in msgpack, {problem}") from None
    if not isinstance(found, dict):
        raise ServerLost(f"expected {what} as a map, found a {type(found).__name__}")
    return found


async def _connect(cfg: ClientCfg) -> Any:
    client = optional("websockets.asyncio.client", "a remote policy", "remote")
    headers = {"Authorization": f"Api-Key {cfg.api_key}"} if cfg.api_key else None
    return await client.connect(
        cfg.url,
        compression=None,
        max_size=cfg.max_frame_bytes,
        additional_headers=headers,
        open_timeout=None,
        close_timeout=1,
        ping_interval=None,  # a server may compute for minutes without looking at its sockets
    )


def _translated(problem: Exception, cfg: ClientCfg) -> Exception:
    from websockets.exceptions import InvalidHandshake, InvalidStatus, InvalidURI

    if isinstance(problem, MissingExtra):
        return problem
    if isinstance(problem, InvalidURI):
        return InputError(f'"{cfg.url}" is no websocket address; write ws://HOST:PORT')
    if isinstance(problem, InvalidStatus):
        status = problem.response.status_code
        if status in (401, 403):
            key = "the api_key was not accepted" if cfg.api_key else "it wants an api_key"
            return Refused(f"{key} (HTTP {status})")
        return ServerLost(f"it answered HTTP {status}; expected a websocket")
    if isinstance(problem, InvalidHandshake):
        return ServerLost(f"it does not speak websocket ({problem})")
    return ServerLost(_why(problem, cfg))


def _why(problem: Exception, cfg: ClientCfg) -> str:
    from websockets.exceptions import ConnectionClosed

    if isinstance(problem, ConnectionClosed) and problem.sent is not None and problem.sent.code == 1009:
        return f"it sent a frame of more than {cfg.max_frame_bytes >> 20} MB; raise max_frame_mb"
    if isinstance(problem, ConnectionClosed) and problem.rcvd is not None and problem.rcvd.code == 1009:
        return "it takes no frame as large as this observation"
    return str(problem) or type(problem).__name__
