"""The network side of a policy server: greets, checks keys, reads requests, sends answers.

As openpi's server: the greeting is one binary frame with the metadata; then each binary request gets one binary answer.
What breaks is answered with one text frame, a traceback, and the connection is closed with code 1011. `GET /healthz`
answers 200 without a key.
"""

from __future__ import annotations

import asyncio
import hmac
import http
import itertools
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from proctor.errors import InputError, optional
from proctor.network.wire import WireError, decode, encode

INTERNAL_ERROR = 1011


class Desk(Protocol):
    """What answers requests. `caller` is a number that belongs to one connection."""

    metadata: dict[str, Any]

    async def answer(self, caller: int, message: dict[Any, Any]) -> dict[str, Any]:
        """What it raises ends the connection, with a traceback for the caller."""
        ...

    def left(self, caller: int) -> None:
        """The connection is gone."""
        ...


class Refusal(Exception):
    """A request that gets no answer. The text says why and is all that the caller is told."""


@dataclass(frozen=True)
class FrontCfg:
    host: str = "127.0.0.1"
    port: int = 8000
    """0: any that is free."""
    api_key: str | None = None
    max_frame_bytes: int = 256 << 20


async def serve(desk: Desk, cfg: FrontCfg, stop: asyncio.Event, ready: Callable[[str], None]) -> None:
    """Serve until `stop` is set; `ready` is called with the address once requests are taken. Raises InputError where
    the port cannot be had."""
    websockets = optional("websockets.asyncio.server", "proctor serve", "remote")
    front = _Front(desk, cfg)
    try:
        server = await websockets.serve(
            front.attend, cfg.host, cfg.port, compression=None, max_size=cfg.max_frame_bytes, close_timeout=1,
            ping_timeout=60, process_request=front.admit,
        )  # fmt: skip
    except OSError as problem:
        raise InputError(f"cannot listen on {cfg.host}:{cfg.port}: {problem.strerror or problem}") from None
    async with server:
        port = next(iter(server.sockets)).getsockname()[1]
        ready(f"ws://{f'[{cfg.host}]' if ':' in cfg.host else cfg.host}:{port}")
        await stop.wait()
        front.hang_up()


class _Front:
    def __init__(self, desk: Desk, cfg: FrontCfg):
        self.desk, self._key = desk, cfg.api_key
        self._greeting = encode(desk.metadata)
        self._callers = itertools.count()
        self._attending: set[asyncio.Task[Any]] = set()

    def hang_up(self) -> None:
        """End every connection, also those that wait for an answer which may never come."""
        for task in self._attending:
            task.cancel()

    def admit(self, connection: Any, request: Any) -> Any:
        """Before the handshake: an HTTP answer, or None to go on."""
        if request.path == "/healthz":
            return connection.respond(http.HTTPStatus.OK, "OK\n")
        given = request.headers.get("Authorization", "")
        if self._key is not None and not hmac.compare_digest(given.encode(), f"Api-Key {self._key}".encode()):
            return connection.respond(http.HTTPStatus.UNAUTHORIZED, "send the header Authorization: Api-Key KEY\n")
        return None

    async def attend(self, connection: Any) -> None:
        """One connection, to its end."""
        from websockets.exceptions import ConnectionClosed

        caller, me = next(self._callers), asyncio.current_task()
        assert me is not None
        self._attending.add(me)
        try:
            await connection.send(self._greeting)
            async for frame in connection:
                await connection.send(encode(await self.desk.answer(caller, _message(frame))))
        except (ConnectionClosed, asyncio.CancelledError):
            pass
        except (Refusal, WireError) as problem:
            await _refuse(connection, str(problem))
        except Exception:
            await _refuse(connection, traceback.format_exc())
        finally:
            self._attending.discard(me)
            self.desk.left(caller)


async def _refuse(connection: Any, text: str) -> None:
    from websockets.exceptions import ConnectionClosed

    try:
        await connection.send(text)
        await connection.close(INTERNAL_ERROR, "the request could not be answered; see the last frame")
    except ConnectionClosed:
        pass


def _message(frame: str | bytes) -> dict[Any, Any]:
    if isinstance(frame, str):
        raise Refusal("found a text frame; expected a binary one with an observation in msgpack")
    message = decode(frame)
    if not isinstance(message, dict):
        raise Refusal(f"found a {type(message).__name__}; expected a map with an observation")
    return message
