from __future__ import annotations

import asyncio
import contextlib
import time
import uuid
from typing import Any

import msgpack
import numpy as np

from vla_eval import __version__
from vla_eval.model_servers.base import ModelServer, SessionContext


def _pack(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        said = {"data": value.tobytes(), "dtype": value.dtype.str, "shape": list(value.shape)}
        return {"__ndarray__": True, **said}
    return value.item() if isinstance(value, np.generic) else value


def _unpack(found: dict[Any, Any]) -> Any:
    if "__ndarray__" not in found:
        return found
    dtype = np.dtype(found["dtype"])
    if dtype.kind not in "biuf":
        raise ValueError(f"Disallowed numpy dtype: {dtype}")
    return np.frombuffer(found["data"], dtype).reshape(found["shape"]).copy()


async def _attend(socket: Any, model: ModelServer) -> None:
    """One connection. What cannot be read ends it without a word; what a model raises is sent, and it goes on. The
    start of an episode is answered only where it fails."""
    session, answering, in_episode = str(uuid.uuid4()), [0], False

    async def say(kind: str, payload: Any, seq: int) -> None:
        said = {"type": kind, "payload": payload, "seq": seq, "timestamp": time.time()}
        await socket.send(msgpack.packb(said, default=_pack))

    async def act(action: dict[str, Any]) -> None:
        await say("action", action, answering[0])

    async def fail(what: str, problem: Exception, seq: int) -> None:
        await say("error", {"error": f"{what}: {type(problem).__name__}: {problem}"}, seq)

    context = SessionContext(session, "", act)
    try:
        async for frame in socket:
            found = msgpack.unpackb(frame, object_hook=_unpack)
            kind, payload, seq = found["type"], found["payload"], found["seq"]
            if kind == "hello":
                hello = {"harness_version": __version__, "protocol_version": 1, "model_server": type(model).__name__}
                params = model.get_observation_params()
                wanted = {"observation_params": params} if params else {}
                await say("hello", {**hello, "capabilities": {}, **wanted}, seq)
            elif kind == "episode_start":
                recording = payload.get("recording") or {}
                named = recording.get("sid") or session, recording.get("eid") or str(uuid.uuid4())
                context = SessionContext(*named, act)
                try:
                    await model.on_episode_start(payload, context)
                    in_episode = True
                except Exception as problem:
                    await fail("episode_start_failed", problem, seq)
            elif kind == "observation":
                answering[0] = seq
                try:
                    await model.on_observation(payload, context)
                except Exception as problem:
                    await fail("observation_failed", problem, seq)
                    continue
                context.step += 1
            elif kind == "episode_end":
                with contextlib.suppress(Exception):
                    await model.on_episode_end(payload, context)
                in_episode = False
            else:
                assert kind in ("action", "error"), kind
    except Exception:
        return
    finally:
        if in_episode:
            await model.on_episode_end({}, context)


async def serve_async(model: ModelServer, host: str, port: int) -> None:
    from websockets.asyncio.server import serve as listen

    async with listen(
        lambda socket: _attend(socket, model), host, port, compression=None, max_size=None, ping_interval=None
    ):
        await asyncio.Event().wait()


def serve(model: ModelServer, host: str = "0.0.0.0", port: int = 8000) -> None:
    asyncio.run(serve_async(model, host, port))
