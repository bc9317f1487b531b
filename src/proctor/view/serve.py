"""Starting the server: which address, which token, and what is printed."""

from __future__ import annotations

import ipaddress
import os
import secrets
import socket
import threading
import webbrowser
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from proctor.errors import InputError, optional
from proctor.view.places import Places


@dataclass(frozen=True)
class Serving:
    """How to serve. `port` 0: any free one. `token` None: one is made up where the address asks for it."""

    host: str = "127.0.0.1"
    port: int = 8765
    token: str | None = None
    browser: bool = True
    trust: bool = False


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address. Names other than localhost are not looked up."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def serve(folders: list[Path], how: Serving, say: Callable[[str], None]) -> None:
    """Serve until interrupted. Raises InputError where a folder is none, a package is absent or the port is taken."""
    uvicorn = optional("uvicorn", "proctor view", "view")
    optional("starlette", "proctor view", "view")
    from proctor.view.app import make_app

    places = Places(folders)
    token = how.token or (None if is_loopback(how.host) else secrets.token_urlsafe(24))
    bound = _bound(how.host, how.port)
    port = bound.getsockname()[1]
    address = f"http://{_shown(how.host)}:{port}/" + (f"?token={quote(token)}" if token else "")
    for line in greeting(how, address, port, len(places.runs())):
        say(line)
    if how.browser:
        threading.Timer(0.5, webbrowser.open, (address,)).start()
    config = uvicorn.Config(
        make_app(places, token=token, trust=how.trust), log_level="critical", access_log=False, lifespan="off",
        ws="none", timeout_graceful_shutdown=1, server_header=False,
    )  # fmt: skip
    os.nice(10)  # runs come first
    uvicorn.Server(config).run(sockets=[bound])


def greeting(how: Serving, address: str, port: int, runs: int) -> list[str]:
    """What a user must know to open it, here or from afar."""
    found = "no run yet" if not runs else f"{runs:,} {'run' if runs == 1 else 'runs'}"
    lines = [f"viewer: {address} ({found}; Ctrl-C ends it)"]
    if is_loopback(how.host):
        lines.append(f"from another machine: ssh -L {port}:{_shown(how.host)}:{port} {socket.gethostname()}")
    else:
        lines.append("whoever has this address with its token can read these runs; it is not encrypted")
    return lines


def _shown(host: str) -> str:
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((host.strip("[]"), port))
        found.listen(128)  # whoever reads the address may ask at once
    except OSError as error:
        found.close()
        raise InputError(
            f"cannot listen on {host} port {port}: {error.strerror or error}; choose another with --port, 0 for any"
        ) from None
    return found
