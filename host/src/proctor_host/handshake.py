"""How an engine and a served host become sure of each other, before either believes a word.

Both know a token. The host speaks first, with a number that it has never used (a nonce); the engine answers with one
of its own and a proof that it knows the token, which is an HMAC over both. The host proves the same. The token itself
never travels, and a proof that somebody has overheard is worth nothing for the next connection. Until a caller has
proved itself, it is heard for `PATIENCE_S`, and no frame of it may be longer than `MOST_BYTES`.

What follows on the connection is neither encrypted nor signed: in a network that others can write to, use a tunnel.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import socket
import struct
import time
from typing import Any, Mapping

from proctor_host import __version__
from proctor_host.codec import PROTOCOL
from proctor_host.errors import InputError

PATIENCE_S = 10.0
"""How long the other side may take to introduce itself, all in all."""
MOST_BYTES = 4096
"""Of a frame of the handshake."""
LEAST_TOKEN = 16
"""Characters that a token must have."""
HEADER = struct.Struct("<I")
_NONCE_BYTES = 32


class Refusal(Exception):
    """The other side will not have it, or is not what it should be. `busy`: it may later. `protocol`, `version`: what a
    side says of itself that speaks another protocol."""

    def __init__(self, why: str, busy: bool = False, protocol: Any = None, version: str = ""):
        super().__init__(why)
        self.busy, self.protocol, self.version = busy, protocol, version


class Lapse(Exception):
    """The other side is gone, too slow, or says what nobody understands."""


def read_token(path: str) -> bytes:
    """The token in a file: its text without the space around it. Raises InputError where there is none."""
    try:
        with open(path, "rb") as file:
            token = file.read(1 << 16).strip()
    except OSError as error:
        raise InputError(f"the token file {path} cannot be read: {error.strerror or error}") from None
    if len(token) < LEAST_TOKEN:
        raise InputError(
            f"the token file {path} has {len(token)} characters; expected {LEAST_TOKEN} or more, which nobody can guess"
        )
    return token


def new_token(path: str) -> None:
    """Make a token file that only its owner can read. Raises InputError where there is a file already."""
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise InputError(f"there is a file {path} already; leave out --new-token to use it, or remove it") from None
    except OSError as error:
        raise InputError(f"the token file {path} cannot be written: {error.strerror or error}") from None
    with os.fdopen(fd, "w") as file:
        file.write(secrets.token_hex(32) + "\n")


def split_address(address: str) -> tuple[str, int]:
    """Host and port of `HOST:PORT`, `[::1]:PORT`. Raises InputError for anything else."""
    host, _, port = address.rpartition(":")
    host = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    if not host or not port.isdecimal() or int(port) > 65535:
        raise InputError(f'found the address "{address}"; expected HOST:PORT, such as 127.0.0.1:7000')
    return host, int(port)


# The engine's side ----------------------------------------------------------------------------------------------------


def introduce(sock: socket.socket, token: bytes, engine: str) -> Mapping[str, Any]:
    """Prove to a host that we know the token, and have it prove the same; what it says of itself, with `workers`.
    Raises Refusal or Lapse."""
    until = time.monotonic() + PATIENCE_S
    first = _read(sock, until)
    if first.get("proctor") != "host":
        raise Lapse("it is no host of Proctor's")
    version, protocol = str(first.get("host")), first.get("protocol")
    if protocol != PROTOCOL:
        raise Refusal("it speaks another protocol", protocol=protocol, version=version)
    theirs, ours = _nonce(first), secrets.token_bytes(_NONCE_BYTES)
    said = {"proctor": "engine", "protocol": PROTOCOL, "engine": engine, "nonce": ours.hex()}
    _write(sock, {**said, "proof": _proof(token, b"engine", theirs, ours)}, until)
    last = _read(sock, until)
    if "refused" in last:
        raise Refusal(str(last["refused"]), busy=last.get("busy") is True)
    if not hmac.compare_digest(str(last.get("proof")).encode(), _proof(token, b"host", theirs, ours).encode()):
        raise Refusal("it does not know the token")
    workers = last.get("workers")
    if type(workers) is not int or workers < 1:
        raise Lapse("it does not say how many workers it has")
    return {**first, "workers": workers}


# The host's side ------------------------------------------------------------------------------------------------------


class Doorkeeper:
    """Asks one caller who it is."""

    def __init__(self, sock: socket.socket, token: bytes):
        self._sock, self._token = sock, token
        self._until = time.monotonic() + PATIENCE_S
        self._ours = secrets.token_bytes(_NONCE_BYTES)
        self._theirs = b""

    def ask(self) -> str:
        """The version of the engine that calls. Raises Lapse where it does not know the token, or is none."""
        said = {"proctor": "host", "protocol": PROTOCOL, "host": __version__, "nonce": self._ours.hex()}
        _write(self._sock, said, self._until)
        answer = _read(self._sock, self._until)
        engine, protocol = str(answer.get("engine"))[:100], answer.get("protocol")
        if protocol != PROTOCOL:
            self.refuse(f"proctor-host {__version__} speaks protocol {PROTOCOL}, proctor {engine} speaks {protocol}")
            raise Lapse(f"proctor {engine} speaks protocol {protocol}")
        self._theirs = _nonce(answer)
        proof = _proof(self._token, b"engine", self._ours, self._theirs)
        if not hmac.compare_digest(str(answer.get("proof")).encode(), proof.encode()):
            self.refuse("the token is not that of this host")
            raise Lapse("its token is another one")
        return engine

    def refuse(self, why: str, busy: bool = False) -> None:
        _write(self._sock, {"refused": why, "busy": busy}, self._until)

    def welcome(self, workers: int) -> None:
        proof = _proof(self._token, b"host", self._ours, self._theirs)
        _write(self._sock, {"workers": workers, "proof": proof}, self._until)


def _proof(token: bytes, who: bytes, host: bytes, engine: bytes) -> str:
    return hmac.new(token, b"proctor " + who + host + engine, hashlib.sha256).hexdigest()


def _nonce(said: Mapping[str, Any]) -> bytes:
    try:
        nonce = bytes.fromhex(str(said.get("nonce")))
    except ValueError:
        nonce = b""
    if len(nonce) != _NONCE_BYTES:
        raise Lapse("it says what nobody understands")
    return nonce


# Frames ---------------------------------------------------------------------------------------------------------------


def _write(sock: socket.socket, said: Mapping[str, Any], until: float) -> None:
    text = json.dumps(said).encode()
    try:
        sock.settimeout(max(until - time.monotonic(), 0.001))
        sock.sendall(HEADER.pack(len(text)) + text)
    except OSError as error:
        raise Lapse(_why(error)) from None


def _read(sock: socket.socket, until: float) -> Mapping[str, Any]:
    try:
        said = json.loads(read_frame(sock, MOST_BYTES, until).decode())
    except (ValueError, RecursionError):
        raise Lapse("it says what nobody understands") from None
    if type(said) is not dict:
        raise Lapse("it says what nobody understands")
    return said


def read_frame(sock: socket.socket, most: int, until: float) -> bytes:
    """The next frame, and no byte of what follows it. Raises Lapse where it is longer than `most` bytes or does not
    come by the time `until` (monotonic)."""
    (length,) = HEADER.unpack(_exactly(sock, HEADER.size, until))
    if length > most:
        raise Lapse(f"it announces {length:,} bytes; expected {most:,} at most")
    return _exactly(sock, length, until)


def _exactly(sock: socket.socket, n: int, until: float) -> bytes:
    found = bytearray()
    while len(found) < n:
        left = until - time.monotonic()
        if left <= 0:
            raise Lapse("it does not answer")
        try:
            sock.settimeout(left)
            piece = sock.recv(min(n - len(found), 1 << 16))
        except OSError as error:
            raise Lapse(_why(error)) from None
        if not piece:
            raise Lapse("it has closed the connection")
        found += piece
    return bytes(found)


def _why(error: OSError) -> str:
    return "it does not answer" if isinstance(error, socket.timeout) else str(error.strerror or error)
