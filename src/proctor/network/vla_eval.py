"""The protocol of vla-eval's model servers (its version 1, vla-eval 0.8).

Every message is a map of `type`, `payload`, `seq` and `timestamp`. The client speaks first, with a hello that the
server returns. An episode is begun with `episode_start`, which is not answered, unless with an error; an `observation`
is answered by an `action` with the same `seq`. A connection has one episode at a time: the server keeps the rest of a
chunk of actions, and whatever else its policy remembers, for the connection.

vla-eval's own client takes whatever comes next for its answer. Here an answer is known by its number: a server that
failed at the start of an episode, or that answered twice, would otherwise be one answer behind from then on.
"""

from __future__ import annotations

import time
from typing import Any, ClassVar

from proctor.network.speech import Asked, ServerError, ServerLost, Speech, as_map
from proctor.network.wire import VLA_EVAL, encode

VERSION = 1
HELLO, START, OBSERVATION, ACTION, END, ERROR = (
    "hello", "episode_start", "observation", "action", "episode_end", "error",
)  # fmt: skip
DESCRIPTION = "task_description"
"""The key of the instruction."""


def message(kind: str, payload: dict[str, Any], number: int) -> bytes:
    """A frame. Raises WireError for what cannot be sent."""
    return encode({"type": kind, "payload": payload, "seq": number, "timestamp": time.time()}, VLA_EVAL)


class VlaEval(Speech):
    """See the module. The request that begins an episode has two frames, the start and the first observation."""

    silent: ClassVar[str] = "a model server of vla-eval's answers a hello"

    def __init__(self, version: str):
        self._version = version
        """Who we say that we are."""

    async def greet(self, socket: Any) -> dict[Any, Any]:
        await socket.send(message(HELLO, {"harness_version": self._version, "protocol_version": VERSION}, 0))
        kind, payload, _ = _parts(await socket.recv(), "a hello")
        if kind != HELLO:
            raise ServerLost(f'expected a hello, found a message "{kind}"')
        spoken = payload.get("protocol_version", VERSION)
        if spoken != VERSION:
            raise ServerLost(f"it speaks version {spoken!r} of vla-eval's protocol; expected {VERSION}")
        return payload

    async def answer(self, socket: Any, asked: Asked) -> dict[Any, Any]:
        for frame in asked.frames:
            await socket.send(frame)
        while True:
            kind, payload, number = _parts(await socket.recv(), "an answer")
            if kind == ERROR:
                raise ServerError(str(payload.get("error", payload)))
            if number == asked.number:
                break
        if kind != ACTION:
            raise ServerLost(f'expected an action, found a message "{kind}"')
        return payload

    def same(self, before: dict[Any, Any], now: dict[Any, Any]) -> bool:
        """The class of the server, its version and what it declares."""
        return before == now

    def farewell(self, number: int) -> bytes | None:
        """What vla-eval itself tells a server whose client has gone: nothing of the result."""
        return message(END, {}, number)


def _parts(frame: str | bytes, what: str) -> tuple[str, dict[Any, Any], Any]:
    """Type, payload and number of a message. Raises ServerLost for what is none."""
    found = as_map(frame, what, VLA_EVAL)
    kind, payload = found.get("type"), found.get("payload")
    if not isinstance(kind, str) or not isinstance(payload, dict):
        keys = ", ".join(map(str, list(found)[:8])) or "nothing"
        raise ServerLost(
            f"expected {what} of vla-eval's protocol, with a type and a payload, found a map of {keys}; for a server "
            "of openpi's protocol leave out protocol: vla_eval"
        )
    return kind, payload, found.get("seq")
