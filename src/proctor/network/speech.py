"""What is said on a connection to a policy server: the greeting, and how a request gets its answer.

A speech knows no pool, no time limits and no trials. What it raises: `ServerError`, the policy broke; `ServerLost`, no
answer came, and the policy is not to blame; `Refused`, asking again is of no use.
"""

from __future__ import annotations

import abc
from typing import Any, ClassVar, NamedTuple

from proctor.network.fields import ANNOUNCED, VERSION
from proctor.network.wire import OPENPI, Dialect, WireError, decode


class ServerError(Exception):
    """The server's policy broke on a request; the text is what the server sent, usually a traceback."""


class ServerLost(Exception):
    """No answer came, and the policy is not to blame: the server is gone, silent, or speaks something else."""


class Refused(ServerLost):
    """The server is there and will not have us: asking again is of no use."""


class Asked(NamedTuple):
    """A request: the frames that it is made of, and the number that its answer carries, where answers are numbered."""

    frames: tuple[bytes, ...]
    number: int = 0


class Speech(abc.ABC):
    """How to talk to one kind of server. Stateless."""

    silent: ClassVar[str]
    """What to think of a server that does not greet."""

    @abc.abstractmethod
    async def greet(self, socket: Any) -> dict[Any, Any]:
        """What the server says of itself on a new connection."""

    @abc.abstractmethod
    async def answer(self, socket: Any, asked: Asked) -> dict[Any, Any]:
        """What the server answers to a request."""

    @abc.abstractmethod
    def same(self, before: dict[Any, Any], now: dict[Any, Any]) -> bool:
        """Whether two greetings may be of one policy."""

    def farewell(self, number: int) -> bytes | None:
        """What is sent when an episode is over; None: the protocol knows no episodes."""
        return None


class Openpi(Speech):
    """openpi's protocol: the server speaks first, then one request, one answer. A frame of text is an error."""

    silent: ClassVar[str] = (
        "a policy server speaks first (a model server of vla-eval's waits to be greeted: protocol: vla_eval)"
    )

    async def greet(self, socket: Any) -> dict[Any, Any]:
        return as_map(await socket.recv(), "a greeting", OPENPI)

    async def answer(self, socket: Any, asked: Asked) -> dict[Any, Any]:
        for frame in asked.frames:
            await socket.send(frame)
        answer = await socket.recv()
        if isinstance(answer, str):
            raise ServerError(answer)
        return as_map(answer, "an answer", OPENPI)

    def same(self, before: dict[Any, Any], now: dict[Any, Any]) -> bool:
        """Proctor's own says of what files its policy is made; any other may say what it likes."""
        return not is_proctor(before) or before == now


def is_proctor(metadata: dict[Any, Any]) -> bool:
    """Whether a greeting is that of `proctor serve`."""
    return metadata.get(ANNOUNCED) == VERSION


def as_map(frame: str | bytes, what: str, dialect: Dialect) -> dict[Any, Any]:
    """The map in a frame. Raises ServerLost where there is none."""
    if isinstance(frame, str):
        raise ServerLost(f"found the text {frame[:80]!r}; expected {what} in msgpack")
    try:
        found = decode(frame, dialect)
    except WireError as problem:
        raise ServerLost(f"expected {what} in msgpack, {problem}") from None
    if not isinstance(found, dict):
        raise ServerLost(f"expected {what} as a map, found a {type(found).__name__}")
    return found
