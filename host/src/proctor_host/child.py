"""The program of a worker process, which its keeper calls. It inherits two files: socket and memory.

The engine speaks first: a `hello` says which protocol it speaks, where modules lie, what the run is like, and what
more than this package the worker has (`proctor_host.extras`). The worker answers with its own protocol, version,
interpreter and process id, or with a sentence that says why it cannot work for this engine.

A suite's environment is a module of Proctor's, or of a package beside it, and Proctor need not be installed in the
worker's interpreter. It needs numpy, the simulator and a few modules that need no more than that. They are read from
where the engine has them (`Finder`); packages on the way are not run, since what they offer is for the engine.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import platform
import socket
import sys
import time
from typing import Any, Mapping, Sequence

import numpy as np

from proctor_host import __version__
from proctor_host.board import Place, SharedBoard
from proctor_host.cfg import WorkerCfg
from proctor_host.channel import Channel, Closed
from proctor_host.codec import PROTOCOL, Codec
from proctor_host.collecting import collect_seldom
from proctor_host.copies import end_if_copied, forks
from proctor_host.errors import BREAKS, explain
from proctor_host.extras import Extras, import_object
from proctor_host.host import Host
from proctor_host.limits import Watch
from proctor_host.messages import Asks, Close, Event

PACKAGE = "proctor"
SUITES = f"{PACKAGE}.suites"
BARE = (PACKAGE, SUITES, f"{PACKAGE}.policies")
"""Packages that are not run; those of single suites, one below theirs, are not run either."""


class Finder(importlib.abc.MetaPathFinder):
    """Finds `proctor` and what is in it below the folder `root`."""

    def __init__(self, root: str):
        self._root = root

    def find_spec(self, name: str, path: Sequence[Any] | None = None, target: Any = None) -> Any:
        if name.partition(".")[0] != PACKAGE:
            return None
        place = os.path.join(self._root, *name.split("."))
        if os.path.isdir(place):
            if name in BARE or name.rpartition(".")[0] == SUITES:
                spec = importlib.machinery.ModuleSpec(name, None, is_package=True)
                spec.submodule_search_locations = [place]
                return spec
            file, inside = os.path.join(place, "__init__.py"), [place]
            return importlib.util.spec_from_file_location(name, file, submodule_search_locations=inside)
        return importlib.util.spec_from_file_location(name, f"{place}.py") if os.path.isfile(f"{place}.py") else None


def serve_modules(root: str) -> None:
    """From now on, `proctor` is what lies in this folder."""
    sys.meta_path.insert(0, Finder(root))


def offer(package: str, homes: Mapping[str, str]) -> None:
    """Have a package that is not run offer these names, each from its module, when they are first asked for."""

    def find(name: str) -> Any:
        if name not in homes:
            known = ", ".join(sorted(homes))
            raise AttributeError(f"in a runtime, {package!r} has no {name!r}; it offers {known}")
        return getattr(importlib.import_module(homes[name]), name)

    vars(importlib.import_module(package))["__getattr__"] = find


GATHER_S = 0.01
"""How long events may be gathered while there is enough to step."""
ANSWER_S = 0.0015
"""About how long an answer takes: it is time to ask before less than this is left to step."""
PATIENCE_S = 2 * ANSWER_S
"""How long an answer may be awaited before more is asked for, while there is something to step."""
LOOK_S = 0.02
"""How often commands are looked for while there is enough to step."""
QUICK_S = 0.0002
"""Steps so quick that asking after each would cost more than they do: these are asked for together."""


def main(socket_fd: int, memory_fd: int) -> None:
    """Returns when the engine says so, or is gone."""
    for fd in (socket_fd, memory_fd):
        os.set_inheritable(fd, False)
    channel = Channel(socket.socket(fileno=socket_fd), Codec(False, {}))
    with contextlib.suppress(Closed):
        (hello,) = channel.first()
        before = forks()
        os.register_at_fork(after_in_child=channel.sock.close)
        settled = _settled(channel, hello)
        if settled is None:
            return
        cfg, extras = settled
        board, link = SharedBoard(memory_fd, hello["slots"], shared=hello["shared"]), Link(channel)
        host = Host(cfg, board, link.emit, Watch(board.pulse), extras, apart=True)
        collect_seldom()
        channel.send([greeting()])
        with extras.pinned():
            serve(host, board, link)
        end_if_copied(before)


def greeting() -> dict[str, Any]:
    """What a worker says of itself."""
    return {
        "protocol": PROTOCOL,
        "host": __version__,
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "numpy": np.__version__,
        "pid": os.getpid(),
    }


def _settled(channel: Channel, hello: Any) -> tuple[WorkerCfg, Extras] | None:
    """What the engine has said, in effect; None where it was refused."""
    found = hello.get("protocol") if isinstance(hello, dict) else None
    if found != PROTOCOL:
        theirs = hello.get("engine", "of unknown version") if isinstance(hello, dict) else "of unknown version"
        _refuse(channel, f"proctor-host {__version__} speaks protocol {PROTOCOL}, proctor {theirs} speaks {found}")
        return None
    try:
        sys.path.extend([folder for folder in hello["paths"] if folder not in sys.path])
        if hello["root"] is not None:
            serve_modules(hello["root"])
        cfg = WorkerCfg.from_plain(hello["cfg"])
        channel.codec = Codec(hello["extras"] is not None, cfg.tasks)
        kind = Extras if hello["extras"] is None else import_object(hello["extras"])
        return cfg, kind(cfg)
    except BREAKS as problem:
        _refuse(channel, explain(problem))
        return None


def _refuse(channel: Channel, why: str) -> None:
    channel.send([{**greeting(), "refused": why}])


def serve(host: Host, board: SharedBoard, link: Link) -> None:
    """Take commands, work, answer, until closed. A list of slots has chunks on the board, where the last ones lay or
    where the message says; they stay there until their slots ask again."""
    place: Place = ("", ())
    while True:
        for command in link.commands(host):
            if type(command) is tuple:
                command, place = command
            if type(command) is list:
                chunks = board.actions(place)
                host.run(command, [chunks[slot] for slot in command])
                continue
            host.handle(command)
            if isinstance(command, Close):
                link.flush()
                return
        host.work(0.0)
        if host.lines.by_agent:
            host.lines.flush()
        link.flush_if_due(host.backlog, host.made)


class Link:
    """The worker's end of the pipe. Events are gathered while the worker has enough to step, so that neither side is
    woken for each of them."""

    def __init__(self, channel: Channel):
        self.channel = channel
        self._outbox: list[Event | list[int]] = []
        self._since = self._asked_at = 0.0
        self._step_s = self._round_s = 0.0
        self._stepped_at = self._looked_at = 0.0
        self._made = 0

    def emit(self, event: Event) -> None:
        if not self._outbox:
            self._since = time.monotonic()
        if type(event) is not Asks or event.shown is not None:
            self._outbox.append(event)
        elif self._outbox and type(self._outbox[-1]) is list:
            self._outbox[-1] += event.slots
        else:
            self._outbox.append([*event.slots])

    def commands(self, host: Host) -> list[Any]:
        """What the engine wants. Waits while there is nothing to do; looks now and then while there is enough."""
        if host.backlog > 1 and self._stepped_at - self._looked_at < LOOK_S:
            return []
        self._looked_at, idle = self._stepped_at, not host.busy
        if idle and (host.lines.by_agent or host.beside.outstanding):
            host.lines.wait(self.channel.fileno(), *([host.beside.fd] if host.beside.outstanding else []))
            idle = False
        if host.lines.by_agent:
            host.lines.hear()
        commands = self.channel.receive(block=idle)
        if commands:
            self._asked_at = 0.0
        return commands

    def flush(self) -> None:
        if self._outbox:
            outbox, self._outbox = self._outbox, []
            self._asked_at = time.monotonic()
            self.channel.send(outbox)

    def flush_if_due(self, backlog: int, made: int) -> None:
        """`backlog`: how many slots can be stepped; `made`: steps so far. The next look comes after one more round, so
        what counts is how much will be left to step then. While an answer is on its way, more is asked for only when
        nothing is left: two messages where one would do cost the engine, which shares the machine's cores, twice."""
        now = time.monotonic()
        round_s, steps = now - self._stepped_at, max(made - self._made, 1)
        self._step_s, self._round_s = 0.8 * self._step_s + 0.2 * round_s / steps, 0.8 * self._round_s + 0.2 * round_s
        self._stepped_at, self._made = now, made
        left_s = backlog * self._step_s - self._round_s if self._step_s > QUICK_S else backlog
        awaited = backlog > 0 and now - self._asked_at < PATIENCE_S
        if self._outbox and ((left_s < ANSWER_S and not awaited) or now + self._round_s - self._since > GATHER_S):
            self.flush()
