"""A worker in a process of its own: a fresh interpreter, so that a crash or a hang costs the trial it ran, and
nothing of the caller's program is run again (no `if __name__ == "__main__"` needed).

The worker gets a socket and a block of shared memory as inherited files, its start-up data as the first message, and
the run's number of threads for numeric libraries. Between it and the engine stands its keeper
(`proctor_host.keeper`), which ends whatever the worker has started when the worker, or the engine, has ended. The same
program runs in another interpreter (`backends.host`): only the command line and the start-up data differ.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from proctor import threads
from proctor.errors import RunError
from proctor.interpreters import command
from proctor.rendering import offscreen_backend
from proctor.rollout.backends.base import Backend, Lost, Worker
from proctor.rollout.backends.channel import ChannelWorker, ending_of, hello
from proctor.rollout.tasks import Task
from proctor.rollout.worker import HERE
from proctor_host.board import Place, SharedBoard
from proctor_host.cfg import WorkerCfg
from proctor_host.channel import Channel
from proctor_host.codec import Codec
from proctor_host.keeper import GRACE_S
from proctor_host.limits import Watch
from proctor_host.messages import Run
from proctor_host.output import last_lines, open_log

END_SECONDS = 4 * GRACE_S
"""How long a keeper may take to end its worker and all that this has started."""
MARK = "PROCTOR_KEEPER"
"""A variable that a worker, and all that it starts, inherits: who has lost both keeper and parents is found by it."""


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


class ProcessWorker(ChannelWorker):
    """The engine's end of a worker process."""

    def __init__(self, cfg: WorkerCfg, slots: int, interpreter: Interpreter):
        super().__init__(cfg, slots)
        self._interpreter = interpreter
        self.called = "a worker process" if interpreter.name is None else f"a worker in {interpreter.name}"
        self.has_policies = interpreter.extras is not None
        self._mark = secrets.token_hex(16)
        self._board = SharedBoard.create(slots)
        self._pulse = Watch(self._board.pulse)
        self._place: Place | None = None
        """Where the last chunks lie on the board: mostly the next ones lie there, too."""
        ours, theirs = socket.socketpair()
        for sock in (ours, theirs):
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        self._channel = Channel(ours, Codec(interpreter.extras is not None, cfg.tasks))
        try:
            self._process = self._start((theirs.fileno(), self._board.fd))
        except OSError as problem:
            ours.close()
            self._board.close()
            raise RunError(f"{self.called} cannot be started: {problem}") from problem
        finally:
            theirs.close()
        self._started = time.monotonic()
        told = {"extras": interpreter.extras, "root": interpreter.root, "paths": list(interpreter.paths)}
        self._tell([hello(cfg, slots, **told)])

    def run(self, slots: Sequence[int], chunks: np.ndarray) -> None:
        where = list(slots)
        if not self._board.fits(chunks):
            self._outbox.append(Run(where, chunks))
            return
        place = (chunks.dtype.str, chunks.shape[1:])
        board = self._board.actions(place)
        for slot, chunk in zip(where, chunks, strict=True):
            board[slot] = chunk
        if place != self._place:
            self._outbox.append((where, place))
        elif self._outbox and type(self._outbox[-1]) is list:
            self._outbox[-1] += where
        else:
            self._outbox.append(where)
        self._place = place

    def columns(self, task: Task) -> Sequence[Any]:
        assert task.layout is not None
        return self._board.columns(task.layout)

    def _running(self) -> tuple[float, int, float]:
        what, slot, since = self._pulse.read()
        return what, slot, time.monotonic() - since

    def _gone(self) -> bool:
        return self._process.poll() is not None or self._closed

    def _ending(self, during: str, slot: int | None, acting: bool) -> Lost:
        reason = f"{self.called} {ending_of(self._process.wait())}{during}"
        return Lost(reason, slot, False, acting, self._printed())

    def _printed(self) -> str:
        return last_lines(self._folder)

    def _start(self, files: tuple[int, int]) -> subprocess.Popen[bytes]:
        """A keeper, which starts the worker, in a process group of its own: Ctrl-C reaches the main process only."""
        log = open_log(self._folder)
        try:
            return subprocess.Popen(
                self._interpreter.line(*map(str, (*files, os.getpid()))), pass_fds=files,
                env=environment_of(self._interpreter.environment) | {MARK: self._mark}, stdin=subprocess.DEVNULL,
                stdout=log, stderr=log, process_group=0,
            )  # fmt: skip
        finally:
            os.close(log)

    @property
    def _folder(self) -> Path:
        assert self._cfg.folder is not None
        return Path(self._cfg.folder)

    def kill(self) -> None:
        end_kept(self._process, self._mark, self.greeting)
        self._closed = True
        self._channel.sock.close()
        self._board.close()


def end_kept(keeper: subprocess.Popen[bytes], mark: str, greeting: Mapping[str, Any]) -> None:
    """End a keeper, which ends everybody, and then itself. If it does not, or was killed, the worker dies with it, and
    what the worker has started is ended from here: its process group, and whoever bears the keeper's mark."""
    if keeper.poll() is None:
        keeper.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            keeper.wait(END_SECONDS)
    if keeper.poll() in (None, -signal.SIGKILL):
        keeper.kill()
        keeper.wait()
        if "pid" in greeting:
            with contextlib.suppress(OSError):
                os.killpg(int(greeting["pid"]), signal.SIGKILL)
        _end_marked(f"{MARK}={mark}".encode())


def _end_marked(variable: bytes) -> None:
    """Kill every process that has inherited this variable, as `/proc` tells, and those that they have started
    meanwhile; one that does not die within `GRACE_S` is left."""
    until, found = time.monotonic() + GRACE_S, True
    while found and time.monotonic() < until:
        found = False
        for entry in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if variable in (entry / "environ").read_bytes().split(b"\0"):
                    os.kill(int(entry.name), signal.SIGKILL)
                    found = True


def environment_of(given: Mapping[str, str]) -> dict[str, str]:
    """What is given, with the run's number of threads for numeric libraries, and off-screen rendering where there is no
    display."""
    env = {**given, **dict.fromkeys(threads.VARIABLES, str(threads.wanted()))}
    backend = offscreen_backend(env)
    if backend is not None:
        env.setdefault("MUJOCO_GL", backend)
    return env
