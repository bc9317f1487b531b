"""A worker in a process of its own: a fresh interpreter, so that a crash or a hang costs the trial it ran, and
nothing of the caller's program is run again (no `if __name__ == "__main__"` needed).

The worker gets a socket and a block of shared memory as inherited files, its start-up data as the first message, and
the run's number of threads for numeric libraries. Between it and the engine stands its keeper (`keeper.py`), which ends
whatever the worker has started when the worker, or the engine, has ended.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from proctor import threads
from proctor.errors import RunError
from proctor.interpreters import command
from proctor.rendering import offscreen_backend
from proctor.rollout.backends.base import Backend, Lost, Worker
from proctor_host.channel import Channel, Closed
from proctor_host.keeper import GRACE_S
from proctor_host.output import last_lines, open_log
from proctor_host.board import Place, SharedBoard
from proctor_host.messages import Asks, Close, Command, Event, Run, Unclosed
from proctor.rollout.tasks import Task
from proctor_host.cfg import WorkerCfg
from proctor_host.limits import ACTING, IDLE, LOADING, NOBODYS, Watch, limit_of

START_SECONDS = 120.0
CLOSE_SECONDS = 30.0
_DURING = {ACTING: " in its policy", LOADING: " while it loaded a policy"}
"""What a worker was at when it died, where that was no environment."""
HEAR_SECONDS = 2.0
"""A worker that is asked to close may go on with a call for so long: then it has not heard, and is ended."""
END_SECONDS = 4 * GRACE_S
"""How long a keeper may take to end its worker and all that this has started."""


class ProcessBackend(Backend):
    """Each worker is an interpreter of its own, so that a crash or a hang costs the trial it ran and nothing else."""

    name: ClassVar[str] = "process"

    def hire(self, slots: int) -> Worker:
        return ProcessWorker(self.cfg, slots)


class ProcessWorker(Worker):
    """The engine's end of a worker process."""

    def __init__(self, cfg: WorkerCfg, slots: int):
        self.slots, self._cfg = slots, cfg
        self._board = SharedBoard.create(slots)
        self._pulse = Watch(self._board.pulse)
        self._outbox: list[Command | list[int] | tuple[list[int], Place]] = []
        self._place: Place | None = None
        """Where the last chunks lie on the board: mostly the next ones lie there, too."""
        self._closed = False
        ours, theirs = socket.socketpair()
        for sock in (ours, theirs):
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        self._channel = Channel(ours)
        try:
            self._process = _start((theirs.fileno(), self._board.fd), cfg.folder)
        except OSError as problem:
            ours.close()
            self._board.close()
            raise RunError(f"a worker process cannot be started: {problem}") from problem
        finally:
            theirs.close()
        self._started = time.monotonic()
        self._closing_since: float | None = None
        self._pid: int | None = None
        """Of the worker itself, the child of the process that was started; known once it has greeted."""
        self._tell([(cfg, slots)])

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
                elif type(message) is int:
                    self._pid = message
                else:
                    found.append(message)
            if not messages or self._channel.drained:
                break
        return found

    def fileno(self) -> int | None:
        return None if self._closed else self._channel.fileno()

    def lost(self) -> Lost | None:
        what, slot, since = self._pulse.read()
        running = slot if what not in NOBODYS else None
        code = self._process.poll()
        if code is not None or self._closed:
            self.kill()
            ending = _ending(self._process.wait()) + _DURING.get(what, "")
            return self._lost(ending, running, hung=False, acting=what == ACTING)
        seconds = time.monotonic() - (since if what != IDLE else self._started)
        if what == IDLE:
            if self._pid is not None or seconds < START_SECONDS:
                return None
            self.kill()
            return self._lost(f"a worker process did not start within {START_SECONDS:g} s", None, hung=True)
        who, limit = limit_of(what, self._cfg.limits)
        if limit is None or seconds <= limit:
            return None
        self.kill()
        reason = f"{who} within {limit:g} s; its worker was killed"
        return self._lost(reason, running, hung=True, acting=what == ACTING)

    def _lost(self, reason: str, slot: int | None, hung: bool, acting: bool = False) -> Lost:
        return Lost(reason, slot, hung, acting, last_lines(self._cfg.folder))

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


def _start(files: tuple[int, int], folder: Path) -> subprocess.Popen[bytes]:
    """A keeper, which starts the worker, in a process group of its own: Ctrl-C reaches the main process only."""
    log = open_log(folder)
    try:
        return subprocess.Popen(
            command("from proctor_host.keeper import main; main()", *map(str, (*files, os.getpid()))),
            pass_fds=files, env=_environment(), stdin=subprocess.DEVNULL, stdout=log, stderr=log, process_group=0,
        )  # fmt: skip
    finally:
        os.close(log)


def _environment() -> dict[str, str]:
    """The parent's, with the run's number of threads for numeric libraries, and off-screen rendering where there is no
    display."""
    env = {**os.environ, **dict.fromkeys(threads.VARIABLES, str(threads.wanted()))}
    backend = offscreen_backend(env)
    if backend is not None:
        env.setdefault("MUJOCO_GL", backend)
    return env


def _ending(code: int) -> str:
    if code < 0:
        try:
            return f"a worker process died of {signal.Signals(-code).name}"
        except ValueError:
            return f"a worker process died of signal {-code}"
    return f"a worker process ended with exit code {code}"
