"""A worker in a process of its own: a fresh interpreter, so that a crash or a hang costs the trial it ran, and
nothing of the caller's program is run again (no `if __name__ == "__main__"` needed).

The worker gets a socket and a block of shared memory as inherited files, its start-up data as the first message, and
the run's number of threads for numeric libraries. Between it and the engine stands its keeper
(`proctor_host.keeper`), which ends whatever the worker has started when the worker, or the engine, has ended. The same
program runs in another interpreter (`backends.host`): only the command line and the start-up data differ.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from proctor import __version__, threads
from proctor.errors import InputError, RunError
from proctor.interpreters import command
from proctor.rendering import offscreen_backend
from proctor.rollout.backends.base import Backend, Lost, Worker
from proctor.rollout.finishing import finished
from proctor.rollout.tasks import Task
from proctor.rollout.worker.extras import HERE
from proctor_host.board import Place, SharedBoard
from proctor_host.cfg import WorkerCfg
from proctor_host.channel import Channel, Closed
from proctor_host.codec import PROTOCOL, Codec
from proctor_host.keeper import GRACE_S
from proctor_host.limits import ACTING, IDLE, LOADING, NOBODYS, Watch, limit_of
from proctor_host.messages import Asks, Close, Command, Done, Event, Run, Unclosed
from proctor_host.output import last_lines, open_log

log = logging.getLogger("proctor")

START_SECONDS = 120.0
CLOSE_SECONDS = 30.0
_DURING = {ACTING: " in its policy", LOADING: " while it loaded a policy"}
"""What a worker was at when it died, where that was no environment."""
HEAR_SECONDS = 2.0
"""A worker that is asked to close may go on with a call for so long: then it has not heard, and is ended."""
END_SECONDS = 4 * GRACE_S
"""How long a keeper may take to end its worker and all that this has started."""


@dataclass(frozen=True)
class Interpreter:
    """What runs workers. `command` gives the command line that runs some code with some arguments. `extras`: what its
    workers have beside `proctor_host`, by import string; None: nothing, and it is another interpreter than this one,
    with which no pickle is exchanged. `root`: where it finds modules of Proctor's, if they are not installed there.
    `name`: how errors speak of it; None: of this one they do not."""

    command: Callable[..., list[str]]
    environment: Mapping[str, str]
    extras: str | None = None
    root: str | None = None
    paths: tuple[str, ...] = ()
    name: str | None = None

    def line(self, *arguments: str) -> list[str]:
        """A command line that starts a worker's keeper."""
        return self.command("from proctor_host.keeper import main; main()", *arguments)


def here() -> Interpreter:
    """This interpreter."""
    return Interpreter(command, os.environ, HERE)


class ProcessBackend(Backend):
    """Each worker is an interpreter of its own, so that a crash or a hang costs the trial it ran and nothing else."""

    name: ClassVar[str] = "process"

    def hire(self, slots: int) -> Worker:
        return ProcessWorker(self.cfg, slots, here())


class ProcessWorker(Worker):
    """The engine's end of a worker process."""

    def __init__(self, cfg: WorkerCfg, slots: int, interpreter: Interpreter):
        self.slots, self._cfg, self._interpreter = slots, cfg, interpreter
        self.has_policies = interpreter.extras is not None
        self.greeting: Mapping[str, Any] = {}
        self._board = SharedBoard.create(slots)
        self._pulse = Watch(self._board.pulse)
        self._outbox: list[Command | list[int] | tuple[list[int], Place]] = []
        self._place: Place | None = None
        """Where the last chunks lie on the board: mostly the next ones lie there, too."""
        self._closed = False
        ours, theirs = socket.socketpair()
        for sock in (ours, theirs):
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        self._channel = Channel(ours, Codec(interpreter.extras is not None, cfg.tasks))
        try:
            self._process = self._start((theirs.fileno(), self._board.fd))
        except OSError as problem:
            ours.close()
            self._board.close()
            raise RunError(f"{self._called} cannot be started: {problem}") from problem
        finally:
            theirs.close()
        self._started = time.monotonic()
        self._closing_since: float | None = None
        self._pid: int | None = None
        """Of the worker itself, the child of the process that was started; known once it has greeted."""
        self._tell([hello(cfg, slots, interpreter)])

    def send(self, command: Command) -> None:
        self._outbox.append(command)
        if isinstance(command, Close):
            self._closing_since = time.monotonic()

    def run(self, slots: Sequence[int], chunks: np.ndarray) -> None:
        where = list(slots)
        if not self._board.fits(chunks):
            self._outbox.append(Run(where, chunks))
            return
        place = (chunks.dtype.str, chunks.shape[1:])
        self._board.actions(place)[where] = chunks
        self._outbox.append(where if place == self._place else (where, place))
        self._place = place

    def columns(self, task: Task) -> Sequence[Any]:
        assert task.layout is not None
        return self._board.columns(task.layout)

    def flush(self) -> None:
        if self._outbox and not self._closed:
            outbox, self._outbox = self._outbox, []
            self._tell(outbox)

    def _tell(self, messages: list[Any]) -> None:
        try:
            self._channel.send(messages)
        except Closed:
            self._closed = True

    def events(self) -> list[Event]:
        found: list[Event] = []
        while not self._closed:
            try:
                messages = self._channel.receive(block=False)
            except Closed:
                self._closed = True
                break
            for message in messages:
                if type(message) is list:
                    found.append(Asks(message))
                elif type(message) is dict:
                    self._greeted(message)
                elif type(message) is Done:
                    found.append(finished(message, self._cfg))
                else:
                    found.append(message)
            if not messages or self._channel.drained:
                break
        return found

    def _greeted(self, greeting: Mapping[str, Any]) -> None:
        """Raises InputError where the worker cannot work for this engine."""
        if "refused" in greeting:
            self.kill()
            first, *more = str(greeting["refused"]).splitlines() or [""]
            log.error("%s: %s", self._called, "\n".join([first, *more]))
            raise InputError(f"{self._called} refuses to work: {first}")
        self.greeting, self._pid = greeting, int(greeting["pid"])

    @property
    def _called(self) -> str:
        name = self._interpreter.name
        return "a worker process" if name is None else f"a worker in {name}"

    def fileno(self) -> int | None:
        return None if self._closed else self._channel.fileno()

    def lost(self) -> Lost | None:
        what, slot, since = self._pulse.read()
        running = slot if what not in NOBODYS else None
        code = self._process.poll()
        if code is not None or self._closed:
            self.kill()
            ending = f"{self._called} {_ending(self._process.wait())}{_DURING.get(what, '')}"
            return self._lost(ending, running, hung=False, acting=what == ACTING)
        seconds = time.monotonic() - (since if what != IDLE else self._started)
        if what == IDLE:
            if self._pid is not None or seconds < START_SECONDS:
                return None
            self.kill()
            return self._lost(f"{self._called} did not start within {START_SECONDS:g} s", None, hung=True)
        who, limit = limit_of(what, self._cfg.limits)
        if limit is None or seconds <= limit:
            return None
        self.kill()
        reason = f"{who} within {limit:g} s; its worker was killed"
        return self._lost(reason, running, hung=True, acting=what == ACTING)

    def _lost(self, reason: str, slot: int | None, hung: bool, acting: bool = False) -> Lost:
        return Lost(reason, slot, hung, acting, last_lines(self._folder))

    def drain(self) -> list[Event]:
        found: list[Event] = []
        while not self._closed and self._will_close():
            found += self.events()
            if lost := self.lost():
                found += [Unclosed(lost.reason)] if lost.hung else []
                break
            time.sleep(0.002)
        self.kill()
        return found

    def _will_close(self) -> bool:
        """Whether a worker that was asked to close is about to: one that is still starting, or does not come back from
        a call, has not heard."""
        asked = self._closing_since
        if asked is None or self._pid is None:
            return False
        what, _, since = self._pulse.read()
        deaf = what != IDLE and since < asked
        return time.monotonic() - asked < (HEAR_SECONDS if deaf else CLOSE_SECONDS)

    def _start(self, files: tuple[int, int]) -> subprocess.Popen[bytes]:
        """A keeper, which starts the worker, in a process group of its own: Ctrl-C reaches the main process only."""
        log = open_log(self._folder)
        try:
            return subprocess.Popen(
                self._interpreter.line(*map(str, (*files, os.getpid()))), pass_fds=files,
                env=_environment(self._interpreter.environment), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                process_group=0,
            )  # fmt: skip
        finally:
            os.close(log)

    @property
    def _folder(self) -> Path:
        assert self._cfg.folder is not None
        return Path(self._cfg.folder)

    def kill(self) -> None:
        """The keeper ends everybody, and then itself. If it does not, or was killed, the worker dies with it, and the
        worker's process group is ended from here."""
        if self._process.poll() is None:
            self._process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(END_SECONDS)
        if self._process.poll() in (None, -signal.SIGKILL):
            self._process.kill()
            self._process.wait()
            if self._pid is not None:
                with contextlib.suppress(OSError):
                    os.killpg(self._pid, signal.SIGKILL)
        self._closed = True
        self._channel.sock.close()
        self._board.close()


def hello(cfg: WorkerCfg, slots: int, interpreter: Interpreter, shared: bool = True) -> dict[str, Any]:
    """The first message to a worker. `shared`: it has its board in common with the engine."""
    return {
        "protocol": PROTOCOL,
        "engine": __version__,
        "slots": slots,
        "shared": shared,
        "cfg": cfg.plain(),
        "extras": interpreter.extras,
        "root": interpreter.root,
        "paths": list(interpreter.paths),
    }


def _environment(given: Mapping[str, str]) -> dict[str, str]:
    """What is given, with the run's number of threads for numeric libraries, and off-screen rendering where there is no
    display."""
    env = {**given, **dict.fromkeys(threads.VARIABLES, str(threads.wanted()))}
    backend = offscreen_backend(env)
    if backend is not None:
        env.setdefault("MUJOCO_GL", backend)
    return env


def _ending(code: int) -> str:
    if code < 0:
        try:
            return f"died of {signal.Signals(-code).name}"
        except ValueError:
            return f"died of signal {-code}"
    return f"ended with exit code {code}"
