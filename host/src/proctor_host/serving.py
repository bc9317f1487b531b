"""Serves an environment to engines elsewhere, over TCP: the program `proctor-host serve`.

`ENTRY` is the function that makes the environment, `make(options, *, render, worlds)`, as `package.module:make` or
`file.py:make`. A server makes that and nothing else: whatever module, file or folder an engine names, none is imported
or touched.

Every connection that knows the token (`handshake`) has a worker of its own: the same program that an engine starts as
its child, with its keeper (`keeper`, `child`). This program stands between the two and hands frames on. The engine
cannot see the worker's pulse from afar, so it is told `{"pulse": [what, slot, seconds]}` several times a second, and at
last `{"ended": code, "pulse": ...}`. When the connection ends, whoever ended it, the worker and all that it has started
are ended before another caller gets its place.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from typing import Any, Callable, Mapping

from proctor_host import __version__
from proctor_host.board import SharedBoard
from proctor_host.codec import Codec
from proctor_host.errors import InputError
from proctor_host.handshake import (
    HEADER,
    PATIENCE_S,
    Doorkeeper,
    Lapse,
    new_token,
    read_frame,
    read_token,
    split_address,
)
from proctor_host.keeper import GRACE_S
from proctor_host.limits import IDLE, Watch

PULSE_S = 0.2
"""How often an engine hears what its worker does."""
MOST_HELLO, MOST_COMMAND = 1 << 24, 1 << 28
"""Bytes of an engine's first frame, and of every further one."""
MOST_SLOTS, MOST_WORKERS, MOST_THREADS = 1024, 256, 1024
MOST_UNPROVED = 16
"""Callers at once that have not proved that they know the token; further ones are sent away."""
GONE_S = 30.0
"""An engine whose machine does not take what is sent for so long is gone."""
END_S = 4 * GRACE_S
_CHUNK = 1 << 18
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


def check_entry(entry: str) -> str:
    """The entry with its file's path absolute. Raises InputError where it cannot mean anything."""
    place, _, name = entry.rpartition(":")
    if not place or not name:
        raise InputError(f'found the entry "{entry}"; expected package.module:make or path/to/file.py:make')
    if not place.endswith(".py"):
        return entry
    if not os.path.isfile(place):
        raise InputError(f"there is no Python file {os.path.abspath(place)}")
    return f"{os.path.abspath(place)}:{name}"


class Server:
    """Listens at `address` from the moment it is made. `hire` starts a worker for what an engine's first message says,
    and gives what that worker is told; it raises ValueError, KeyError, TypeError or AttributeError for what is no such
    message. `say` is told what happens, a line each. Raises InputError where the address cannot be had."""

    def __init__(
        self,
        hire: Callable[[Any], tuple[dict[str, Any], Child]],
        address: str,
        token: bytes,
        workers: int = 1,
        say: Callable[[str], None] = print,
    ):
        self._hire, self.token, self.workers, self._say = hire, token, workers, say
        if not 1 <= workers <= MOST_WORKERS:
            raise InputError(f"found {workers} workers; expected 1 to {MOST_WORKERS}")
        host, port = split_address(address)
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            self._listener = socket.create_server((host, port), family=family)
        except (OSError, OverflowError) as error:
            raise InputError(f"cannot listen at {address}: {getattr(error, 'strerror', None) or error}") from None
        self.host, self.port = host, self._listener.getsockname()[1]
        self._woken, self._waker = socket.socketpair()
        self._stopping = False
        self._lock = threading.Lock()
        self._callers: dict[threading.Thread, socket.socket] = {}
        self._unproved = self._taken = 0

    @property
    def address(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def serve(self) -> None:
        """Until `stop`; then every worker is ended."""
        poll = select.poll()
        for sock in (self._listener, self._woken):
            poll.register(sock, select.POLLIN)
        while not self._stopping:
            ready = {fd for fd, _ in poll.poll()}
            if self._listener.fileno() in ready and not self._stopping:
                self._accept()
        self._end_all()

    def stop(self) -> None:
        """From any thread, or from a signal's handler."""
        self._stopping = True
        with contextlib.suppress(OSError):
            self._waker.send(b"\0")

    def _accept(self) -> None:
        try:
            sock, where = self._listener.accept()
        except OSError:
            time.sleep(0.05)  # no more files may be opened, for now
            return
        with self._lock:
            if self._unproved >= MOST_UNPROVED:
                sock.close()
                return
            self._unproved += 1
        name = f"{where[0]}:{where[1]}"
        thread = threading.Thread(target=self._attend, args=(sock, name), name=f"caller {name}", daemon=True)
        with self._lock:
            self._callers[thread] = sock
        thread.start()

    def _attend(self, sock: socket.socket, name: str) -> None:
        """One caller, from its first word to its end."""
        seated = proved = False
        try:
            _set_up(sock)
            door = Doorkeeper(sock, self.token)
            engine = door.ask()
            proved = True
            with self._lock:
                self._unproved -= 1
                seated = self._taken < self.workers and not self._stopping
                self._taken += seated
            if not seated:
                door.refuse(f"all its workers ({self.workers}) are taken", busy=True)
                return
            door.welcome(self.workers)
            self._say(f"{name}: proctor {engine} has a worker")
            self._say(f"{name}: {self._served(sock)}")
        except Lapse as why:
            self._say(f"{name}: sent away: {why}")
        except Exception as problem:
            self._say(f"{name}: {type(problem).__name__}: {problem}")
        finally:
            sock.close()
            with self._lock:
                self._unproved -= not proved
                self._taken -= seated
                self._callers.pop(threading.current_thread(), None)

    def _served(self, sock: socket.socket) -> str:
        """Give a caller its worker; how that ended."""
        frame = read_frame(sock, MOST_HELLO, time.monotonic() + PATIENCE_S)
        codec = Codec(False, {})
        try:
            (said,) = codec.unpack(memoryview(frame))
            hello, child = self._hire(said)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise Lapse(f"it says what nobody understands ({error})") from None
        try:
            child.tell(codec.pack([hello]))
            return Relay(sock, child, codec).run()
        finally:
            child.end()

    def _end_all(self) -> None:
        self._listener.close()
        with self._lock:
            callers = dict(self._callers)
        for sock in callers.values():
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
        for thread in callers:
            thread.join(2 * END_S)
        for sock in (self._woken, self._waker):
            sock.close()


def offering(entry: str) -> Callable[[Any], tuple[dict[str, Any], Child]]:
    """How workers are hired that make one environment and nothing else."""
    entry = check_entry(entry)

    def hire(said: Any) -> tuple[dict[str, Any], Child]:
        hello, threads = kept_of(said, entry)
        return hello, Child(hello["slots"], threads)

    return hire


def kept_of(said: Any, entry: str) -> tuple[dict[str, Any], int]:
    """Of an engine's hello what a worker here is told, and its number of threads: data about the run, but nothing that
    would be imported or opened. Raises ValueError, KeyError or TypeError for what is no hello."""
    cfg, slots, threads = said["cfg"], said["slots"], said.get("threads", 1)
    for name, number, most in (("slots", slots, MOST_SLOTS), ("threads", threads, MOST_THREADS)):
        if type(number) is not int or not 1 <= number <= most:
            raise ValueError(f"found {name}: {number!r}; expected 1 to {most}")
    tasks = {str(name): {**task, "environment": entry} for name, task in cfg["tasks"].items()}
    kept = {name: cfg[name] for name in ("record", "limits", "brought")}
    return {
        "protocol": said["protocol"],
        "engine": said["engine"],
        "slots": slots,
        "shared": False,
        "cfg": {**kept, "folder": None, "metrics": [], "tasks": tasks},
        "extras": None,
        "root": None,
        "paths": [],
    }, threads


class Child:
    """A worker of this machine, with its keeper. `line` gives the command line of the keeper for its arguments, `env`
    its variables; by default, both are those of this program."""

    def __init__(
        self,
        slots: int,
        threads: int,
        line: Callable[..., list[str]] | None = None,
        env: Mapping[str, str] | None = None,
    ):
        self._board = SharedBoard.create(slots)
        self._watch = Watch(self._board.pulse)
        self.sock, theirs = socket.socketpair()
        files = (theirs.fileno(), self._board.fd)
        try:
            self.process = subprocess.Popen(
                (line or _line)(*map(str, (*files, os.getpid()))), pass_fds=files,
                env={**(os.environ if env is None else env), **dict.fromkeys(_THREADS, str(threads))},
                stdin=subprocess.DEVNULL, stdout=2, stderr=2, start_new_session=True,
            )  # fmt: skip
        except BaseException:
            self.sock.close()
            self._board.close()
            raise
        finally:
            theirs.close()

    def tell(self, frame: bytes) -> None:
        self.sock.sendall(HEADER.pack(len(frame)) + frame)

    def pulse(self) -> list[float]:
        """What it is at, for which slot, and for how many seconds; also after it has died."""
        what, slot, since = self._watch.read()
        return [what, slot, 0.0 if what == IDLE else time.monotonic() - since]

    def end(self) -> int:
        """End it and whatever it has started; its exit code."""
        if self.process.poll() is None:
            self.process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(END_S)
        if self.process.poll() is None:
            self.process.kill()
        self.sock.close()
        self._board.close()
        return self.process.wait()


def _line(*arguments: str) -> list[str]:
    """The command line of a keeper in this interpreter, which finds modules where this program does; in the working
    directory last, so that nothing there hides what is installed."""
    here = os.getcwd()
    path = [entry for entry in map(os.path.abspath, filter(None, sys.path)) if entry != here]
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    path = [*path, *([] if root in path or root == here else [root]), here]
    code = f"import sys; sys.path[:] = {path!r}\nfrom proctor_host.keeper import main; main()"
    return [sys.executable, "-c", code, *arguments]


class Relay:
    """Hands frames on between an engine and its worker. No more than a piece of a frame is held at a time."""

    def __init__(self, engine: socket.socket, child: Child, codec: Codec):
        self._engine, self._child, self._codec = engine, child, codec
        self._down, self._up = Flow(engine, child.sock, MOST_COMMAND), Flow(child.sock, engine)
        self._next = 0.0

    def run(self) -> str:
        """Until one of the two ends; who did."""
        for sock in (self._engine, self._child.sock):
            sock.setblocking(False)
        while True:
            now = time.monotonic()
            if now >= self._next:
                self._next = now + PULSE_S
                self._up.add(self._framed({"pulse": self._child.pulse()}))
            self._wait(self._next - now)
            try:
                self._down.move()
            except OSError:
                self._down.drop()  # the worker is gone, which is seen below
            except Lapse as why:
                return f"sent away: {why}"
            if not self._down.open:
                return "it has left"
            try:
                going = self._up.move()
            except OSError as why:
                return f"its connection ended: {why}"
            if not going or (self._child.process.poll() is not None and self._up.idle):
                return self._farewell()

    def _wait(self, seconds: float) -> None:
        poll = select.poll()
        for flow in (self._down, self._up):
            sock, event = flow.waits_for
            poll.register(sock, event)
        if self._down.waits_for[0] is self._up.waits_for[0]:
            poll.register(self._down.waits_for[0], select.POLLIN | select.POLLOUT)
        poll.poll(1000.0 * max(seconds, 0.0))

    def _farewell(self) -> str:
        """The worker has ended: say how."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._child.process.wait(END_S)
        pulse, code = self._child.pulse(), self._child.end()
        if self._up.between_frames:
            with contextlib.suppress(OSError):
                self._engine.settimeout(PATIENCE_S)
                self._engine.sendall(self._framed({"ended": code, "pulse": pulse}))
                self._engine.shutdown(socket.SHUT_WR)
                while self._engine.recv(_CHUNK):
                    pass  # closed at once, the connection might take the last words with it
        return f"its worker ended with {code}"

    def _framed(self, said: Mapping[str, Any]) -> bytes:
        frame = self._codec.pack([said])
        return HEADER.pack(len(frame)) + frame


class Flow:
    """One direction: bytes are taken when all that was taken before is gone. Knows where frames begin, so that one can
    be put in between."""

    def __init__(self, source: socket.socket, target: socket.socket, most: int | None = None):
        self._source, self._target, self._most = source, target, most
        self._pending = bytearray()
        self._head = bytearray()
        self._left = 0
        self._extra = b""
        self._empty = self._dropping = False
        self.open = True
        """Whether more may come from the source."""

    @property
    def waits_for(self) -> tuple[socket.socket, int]:
        return (self._target, select.POLLOUT) if self._pending else (self._source, select.POLLIN)

    @property
    def between_frames(self) -> bool:
        return not (self._pending or self._left or self._head)

    @property
    def idle(self) -> bool:
        """Whether nothing is held, and nothing was there to be taken the last time."""
        return not self._pending and self._empty

    def add(self, frame: bytes) -> None:
        """Put a frame in as soon as none is under way; one that has not gone is replaced by it."""
        self._extra = frame
        self._slip_in()

    def drop(self) -> None:
        """From now on nothing is handed on."""
        self._dropping = True
        self._pending.clear()

    def _slip_in(self) -> None:
        if self._extra and not (self._left or self._head):
            self._pending += self._extra
            self._extra = b""

    def move(self) -> bool:
        """Take what has come and hand it on, without waiting. False once the source has ended and all of it is handed
        on. Raises OSError where the target is gone, and Lapse for a frame that is too long."""
        self._empty = True
        if not self._pending and self.open:
            self._take()
        if self._dropping:
            self._pending.clear()
        with contextlib.suppress(BlockingIOError):
            while self._pending:
                del self._pending[: self._target.send(self._pending)]
        return self.open or bool(self._pending)

    def _take(self) -> None:
        try:
            chunk = self._source.recv(_CHUNK)
        except BlockingIOError:
            return
        except OSError:
            chunk = b""
        if not chunk:
            self.open = False
            return
        self._empty = False
        at = 0
        while at < len(chunk):
            self._slip_in()
            if self._left:
                piece = chunk[at : at + self._left]
                self._left -= len(piece)
            else:
                piece = chunk[at : at + HEADER.size - len(self._head)]
                self._head += piece
                if len(self._head) == HEADER.size:
                    (self._left,) = HEADER.unpack(self._head)
                    self._head.clear()
                    if self._most is not None and self._left > self._most:
                        raise Lapse(f"it announces {self._left:,} bytes; expected {self._most:,} at most")
            self._pending += piece
            at += len(piece)
        self._slip_in()


def _set_up(sock: socket.socket) -> None:
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(1000 * GONE_S))


# The program ----------------------------------------------------------------------------------------------------------


def serve(entry: str, address: str, token_file: str, make_token: bool = False, workers: int = 1) -> None:
    """Serve until Ctrl-C or SIGTERM. Raises InputError for what the user can mend."""
    entry = check_entry(entry)
    if make_token:
        new_token(token_file)
    server = Server(offering(entry), address, read_token(token_file), workers, _say)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: server.stop())
    many = "one worker" if workers == 1 else f"up to {workers} workers"
    print(f"serving {entry} at {server.address} with {many}; Ctrl-C stops", flush=True)
    if server.host not in _LOOPBACK:
        print(
            "everybody with the token can use it, and what is sent is not encrypted; safer is --address "
            f"127.0.0.1:{server.port}, and on the other machine: ssh -N -L {server.port}:127.0.0.1:{server.port} HERE",
            flush=True,
        )
    server.serve()
    print("stopped", flush=True)


def _say(line: str) -> None:
    with contextlib.suppress(OSError, ValueError):
        print(line, file=sys.stderr, flush=True)


def main(arguments: list[str] | None = None) -> None:
    """The program `proctor-host`."""
    parser = argparse.ArgumentParser(prog="proctor-host", description="The worker side of Proctor.")
    parser.add_argument("--version", action="version", version=f"proctor-host {__version__}")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB")
    verb = verbs.add_parser("serve", help="serve an environment to engines elsewhere")
    verb.add_argument("entry", metavar="ENTRY", help="what makes it: package.module:make or file.py:make")
    verb.add_argument("--address", required=True, metavar="HOST:PORT", help="where to listen; port 0: any free one")
    verb.add_argument("--token-file", required=True, metavar="FILE", help="has the token that callers must know")
    verb.add_argument("--new-token", action="store_true", help="make that file, with a token that nobody can guess")
    verb.add_argument("--workers", type=int, default=1, metavar="N", help="how many callers at once; default: 1")
    given = parser.parse_args(arguments)
    if given.verb is None:
        parser.print_help()
        sys.exit(2)
    try:
        serve(given.entry, given.address, given.token_file, given.new_token, given.workers)
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
