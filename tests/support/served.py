"""Policy servers for tests: our own in a thread, and one that speaks the protocol as openpi's does, well or badly."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import traceback
from collections.abc import Callable, Iterator
from typing import Any

from proctor import config_from_dict
from proctor.network.front import FrontCfg
from proctor.network.offer import Offer, ServeCfg
from proctor.network.wire import decode, encode

Serve = Callable[[asyncio.Event, Callable[[str], None]], Any]


@contextlib.contextmanager
def in_background(serve: Serve) -> Iterator[str]:
    """Run `serve(stop, ready)` on a thread of its own; the address that it says it is ready at."""
    loop, stop = asyncio.new_event_loop(), asyncio.Event()
    ready, address, failure = threading.Event(), [""], []

    def is_ready(url: str) -> None:
        address[0] = url
        ready.set()

    def work() -> None:
        try:
            loop.run_until_complete(serve(stop, is_ready))
        except BaseException as problem:
            failure.append(problem)
        finally:
            ready.set()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        assert ready.wait(30)
        if not failure:
            yield address[0]
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(30)
        assert not thread.is_alive(), "the server does not stop"
        loop.close()
    if failure:
        raise failure[0]


@contextlib.contextmanager
def served(examination: dict[str, Any], **keys: Any) -> Iterator[str]:
    """An agent of an examination, served by us. `keys` are of ServeCfg; `front` those of FrontCfg."""
    front = FrontCfg(**{"port": 0, **keys.pop("front", {})})
    offer = Offer(config_from_dict(examination), ServeCfg(front=front, **keys))
    try:
        with in_background(offer.serve) as url:
            yield url
    finally:
        offer.close()


Attend = Callable[[Any], Any]


@contextlib.contextmanager
def plain_server(attend: Attend, port: int = 0) -> Iterator[str]:
    """A bare websocket server whose connections are handled by the coroutine `attend(connection)`."""

    async def serve(stop: asyncio.Event, ready: Callable[[str], None]) -> None:
        from websockets.asyncio.server import serve as listen

        async with listen(attend, "127.0.0.1", port, compression=None, max_size=None, close_timeout=1) as server:
            ready(f"ws://127.0.0.1:{next(iter(server.sockets)).getsockname()[1]}")
            await stop.wait()

    with in_background(serve) as url:
        yield url


def like_openpi(infer: Callable[[dict[str, Any]], dict[str, Any]], metadata: dict[str, Any] | None = None) -> Attend:
    """Answers every observation with `infer(observation)`; what that raises goes back as text, then 1011."""

    async def attend(connection: Any) -> None:
        await connection.send(encode(metadata or {}))
        async for frame in connection:
            try:
                answer = encode(infer(decode(frame)))
            except Exception:
                await connection.send(traceback.format_exc())
                await connection.close(1011, "internal error")
                return
            await connection.send(answer)

    return attend
