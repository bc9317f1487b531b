"""A worker in a process of its own: a fresh interpreter, so that a crash or a hang costs the trial it ran, and
nothing of the caller's program is run again (no `if __name__ == "__main__"` needed).

The child gets a socket and a block of shared memory as inherited files, its start-up data as the first message, one
thread for numeric libraries, and the signal to die with its parent.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from proctor.rendering import offscreen_backend
from proctor.rollout.layout import Layout, layout_of
from proctor.rollout.messages import Command, Event, Ready, Run, Start, TaskInfo
from proctor.rollout.workers.base import Lost, Worker
from proctor.rollout.workers.channel import Channel, Closed, SharedBlock
from proctor.rollout.workers.job import HostCfg
from proctor.rollout.workers.pulse import IDLE, STEPPING

LOG = "workers.log"
"""What environments and libraries print, in the run folder."""
START_SECONDS = 120.0
CLOSE_SECONDS = 30.0
_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")


class ProcessWorker(Worker):
    def __init__(self, cfg: HostCfg, slots: int, layouts: dict[str, Layout | None]):
        self.slots, self._cfg = slots, cfg
        self._layouts = layouts
        self._block = SharedBlock.create(slots)
        self._outbox: list[Command] = []
        self._tasks: dict[int, str] = {}
        self._views: dict[tuple[int, str], list[np.ndarray] | None] = {}
        self._closed = False
        ours, theirs = socket.socketpair()
        for sock in (ours, theirs):
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        self._channel = Channel(ours)
        fds = (theirs.fileno(), self._block.fd)
        with (cfg.folder / LOG).open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "proctor.rollout.workers.child", *map(str, fds)],
                pass_fds=fds, env=_environment(), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                process_group=0,
            )  # fmt: skip
        theirs.close()
        self._started = time.monotonic()
        self._greeted = False
        self._channel.send([(cfg, slots, sys.path, os.getpid())])

    @property
    def pid(self) -> int:
        return self._process.pid

    def send(self, command: Command) -> None:
        if isinstance(command, Start):
            self._tasks[command.slot] = command.trial.task
        self._outbox.append(command)

    def run(self, slot: int, actions: np.ndarray, valid: bool) -> None:
        where = self._block.put_actions(slot, actions)
        self._outbox.append(Run(slot, actions if where is None else where, valid))

    def flush(self) -> None:
        if self._outbox and not self._closed:
            outbox, self._outbox = self._outbox, []
            try:
                self._channel.send(outbox)
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
            if not messages:
                break
            found += [event for m in messages if (event := self._translate(m)) is not None]
        return found

    def _translate(self, message: Event | None) -> Event | None:
        if message is None:
            self._greeted = True
            return None
        if isinstance(message, Ready) and message.leaves is None:
            return Ready(message.slot, self._observation(message.slot))
        if isinstance(message, TaskInfo):
            self._layouts[message.task] = layout_of(message.observation_space)
        return message

    def _observation(self, slot: int) -> list[np.ndarray] | None:
        key = (slot, self._tasks[slot])
        if key not in self._views:
            layout = self._layouts[key[1]]
            assert layout is not None
            self._views[key] = self._block.observation(slot, layout)
        return self._views[key]

    def work(self, seconds: float) -> None:
        pass

    @property
    def busy(self) -> bool:
        return False

    def fileno(self) -> int | None:
        return None if self._closed else self._channel.fileno()

    def lost(self) -> Lost | None:
        what, slot, since = self._block.pulse.read()
        running = slot if what != IDLE else None
        code = self._process.poll()
        if code is not None or self._closed:
            self.kill()
            return Lost(_ending(self._process.wait()), running, hung=False)
        seconds = time.monotonic() - (since if what != IDLE else self._started)
        if what == IDLE:
            if self._greeted or seconds < START_SECONDS:
                return None
            self.kill()
            return Lost(f"a worker process did not start within {START_SECONDS:g} s", None, hung=True)
        limit = self._cfg.limits.step_s if what == STEPPING else self._cfg.limits.reset_s
        if limit is None or seconds <= limit:
            return None
        self.kill()
        call = "step" if what == STEPPING else "make and reset"
        return Lost(
            f"the environment did not return from {call} within {limit:g} s; its worker was killed", running, hung=True
        )

    def drain(self) -> list[Event]:
        found, until = [], time.monotonic() + CLOSE_SECONDS
        while not self._closed and time.monotonic() < until:
            found += self.events()
            if self.lost() is not None:
                break
            time.sleep(0.002)
        self.kill()
        return found

    def kill(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        self._closed = True
        self._channel.sock.close()
        self._block.close()


def _environment() -> dict[str, str]:
    """The parent's, with one thread per worker for numeric libraries, this package on the path, and off-screen
    rendering where there is no display."""
    env = dict(os.environ)
    for name in _ONE_THREAD:
        env.setdefault(name, "1")
    package_root = str(Path(__file__).resolve().parents[3])
    env["PYTHONPATH"] = os.pathsep.join([package_root, *filter(None, [env.get("PYTHONPATH")])])
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
