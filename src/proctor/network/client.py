"""A client of a policy server: many requests at once over several connections.

A connection carries one request at a time, as the protocols demand; `ask` spreads its requests over as many connections
as it has requests, up to a limit, opened when first needed. What happens on the network happens on one thread of the
client's own. A lost connection is opened again, with growing pauses, when the next request needs it: a request is never
sent twice.

Where the server knows episodes, a trial has one connection to itself, which its `Episode` holds. There are then as many
connections as trials that run; the limit is on requests on their way.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from proctor.errors import InputError, MissingExtra, optional
from proctor.network.speech import Asked, Openpi, Refused, ServerError, ServerLost, Speech, is_proctor
from proctor.network.wire import WireError

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


Reply = dict[Any, Any] | ServerError | ServerLost


class Client:
    """Connected when made: raises InputError where no server that speaks the protocol is found. May be used from
    several threads."""

    def __init__(self, cfg: ClientCfg, speech: Speech | None = None):
        self.cfg = cfg
        self._pool = _Pool(cfg, speech or Openpi())
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
        return self.ask_each([(Asked((frame,)), None) for frame in frames])

    def ask_each(self, requests: Sequence[tuple[Asked, Episode | None]]) -> list[Reply]:
        """The same for requests of episodes, of which each is asked once at a time."""
        if self._loop.is_closed():
            return [ServerLost(CLOSED)] * len(requests)
        return self._await(self._pool.ask(requests))

    def episode(self) -> Episode:
        """An episode that is yet to begin. It ends when nobody refers to it any more."""
        return Episode(self)

    def release(self, connection: _Connection) -> None:
        """Have a connection serve another episode. Never waits; may be called on any thread."""
        with suppress(RuntimeError):  # the loop is closed, and so is the connection
            self._loop.call_soon_threadsafe(self._pool.release, connection)

    def close(self) -> None:
        """Give up what is under way, close the connections and end the thread."""
        if not self._loop.is_closed():
            self._await(self._pool.close())
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    def _await(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


class Episode:
    """A trial's hold on a connection, which nobody else gets meanwhile. It belongs to the trial's state, so whoever
    lets go of the trial lets go of it."""

    def __init__(self, client: Client):
        self.client, self.asked = client, 0
        """`asked`: how many requests have been made. A server cannot take one back."""
        self.connection: _Connection | None = None

    def __del__(self) -> None:
        if self.connection is not None:
            self.client.release(self.connection)


class _Connection:
    """An open one. `generation`: how many losses there had been when it was opened."""

    def __init__(self, socket: Any, generation: int):
        self.socket, self.generation = socket, generation

    async def close(self) -> None:
        """Never raises, and waits a second at most for the other side's goodbye."""
        await self.socket.close()


class _Pool:
    """The connections; everything here runs on the client's loop."""

    def __init__(self, cfg: ClientCfg, speech: Speech):
        self.cfg, self.speech, self.losses = cfg, speech, 0
        self._idle: deque[_Connection] = deque()
        self._held: set[_Connection] = set()
        """Those of episodes."""
        self._leaving: set[asyncio.Task[None]] = set()
        self._places = asyncio.Semaphore(cfg.connections)
        self._metadata: dict[Any, Any] | None = None

    async def greet(self) -> dict[Any, Any]:
        """Open the first connection; what the server says of itself."""
        self._idle.append(await self._open())
        assert self._metadata is not None
        return self._metadata

    async def ask(self, requests: Sequence[tuple[Asked, Episode | None]]) -> list[Reply]:
        try:
            return await asyncio.gather(*(self._reply(asked, episode) for asked, episode in requests))
        except asyncio.CancelledError:
            return [ServerLost(CLOSED)] * len(requests)

    def release(self, connection: _Connection) -> None:
        task = asyncio.ensure_future(self._leave(connection))
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)

    async def _leave(self, connection: _Connection) -> None:
        """Say that an episode is over; the connection is then free for the next one."""
        farewell = self.speech.farewell(0)
        try:
            async with asyncio.timeout(self.cfg.timeout_s):
                if farewell is not None:
                    await connection.socket.send(farewell)
        except Exception:
            self._held.discard(connection)
            await connection.close()
        else:
            self._held.discard(connection)
            self._idle.append(connection)

    async def close(self) -> None:
        asked = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in asked:
            task.cancel()
        await asyncio.gather(*asked, return_exceptions=True)
        while self._idle:
            await self._idle.popleft().close()
        while self._held:
            await self._held.pop().close()

    async def _reply(self, asked: Asked, episode: Episode | None) -> Reply:
        try:
            async with self._places:
                return await (self._request(asked) if episode is None else self._request_of(episode, asked))
        except (ServerError, ServerLost) as problem:
            return problem

    async def _request(self, asked: Asked) -> dict[Any, Any]:
        connection = await self._take()
        answer = await self._exchange(connection, asked)
        self._idle.append(connection)
        return answer

    async def _request_of(self, episode: Episode, asked: Asked) -> dict[Any, Any]:
        """The first of an episode takes a connection; the others have that or none."""
        if episode.asked == 1:
            episode.connection = await self._take()
            self._held.add(episode.connection)
        connection = episode.connection
        if connection is None:
            raise ServerLost(f"the connection of this trial to {self.cfg.url} is gone")
        try:
            return await self._exchange(connection, asked)
        except BaseException:
            episode.connection = None
            self._held.discard(connection)
            raise

    async def _exchange(self, connection: _Connection, asked: Asked) -> dict[Any, Any]:
        """The answer to a request. A connection on which something went wrong is closed: what comes late would be taken
        for another's answer."""
        try:
            return await self._within_limit(connection, self.speech.answer(connection.socket, asked))
        except BaseException:
            await connection.close()
            raise

    async def _within_limit(self, connection: _Connection, work: Coroutine[Any, Any, Any]) -> dict[Any, Any]:
        from websockets.exceptions import ConnectionClosed

        try:
            async with asyncio.timeout(self.cfg.timeout_s):
                return await work
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
        """Connect and hear the greeting, which must be that of the policy that was found first."""
        cfg, generation = self.cfg, self.losses
        try:
            async with asyncio.timeout(cfg.connect_s):
                socket = await _connect(cfg)
                try:
                    greeting = await self.speech.greet(socket)
                except BaseException:
                    await socket.close()
                    raise
        except TimeoutError:
            raise ServerLost(f"it was silent for {cfg.connect_s:g} s; {self.speech.silent}") from None
        except ServerLost:
            raise
        except Exception as problem:
            raise _translated(problem, cfg) from None
        connection = _Connection(socket, generation)
        try:
            self._check_greeting(greeting)
        except BaseException:
            await connection.close()
            raise
        return connection

    def _check_greeting(self, metadata: dict[Any, Any]) -> None:
        if self._metadata is None:
            self._metadata = metadata
        elif not self.speech.same(self._metadata, metadata):
            raise Refused(
                f"{self.cfg.url} now offers another policy than when this run began; serve the old one, or start a new "
                "run"
            )


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
