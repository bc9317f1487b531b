"""The program between the engine and a worker: it ends whatever the worker has started, and keeps its output short.

A keeper is the parent of one worker. Simulators that the worker starts may go to process groups and sessions of their
own, or be left by their parents; on Linux the keeper becomes the parent of whatever is left, so that nobody gets away.
When the worker ends, when the engine says so (SIGTERM), or when the engine's process is gone, it ends them all: asked
first, killed after `GRACE_S`. Then it ends as its worker did, so that the engine sees how. Where the kernel does not
know this (systems other than Linux), the worker's process group is ended, and what left it goes on.

This module is the whole program, and small on purpose: the worker is a fork of it.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import os
import resource
import select
import signal
import sys
import time

from proctor_host.output import Output

GRACE_S = 1.0
"""How long a process may take to end when asked, before it is killed."""
LOOK_S = 0.5
"""How often it is looked at whether the engine lives, where the kernel does not say so."""
_AGAIN_S = 0.02
_CHUNK = 1 << 16
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36


def main(program: str = "proctor_host.child") -> None:
    """The arguments are the numbers of inherited files, for a worker socket and memory, and the engine's process id.
    `program`: the module whose `main` takes the files. Returns in the worker only, when that is through."""
    *files, engine = map(int, sys.argv[1:])
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _ask_kernel(_PR_SET_CHILD_SUBREAPER, 1)
    output, theirs = os.pipe()
    woken = _Signals()
    worker = os.fork()
    if worker:
        for fd in (*files, theirs):
            os.close(fd)
        Keeper(worker, engine, output, woken).keep()
    woken.forget()
    gc.disable()  # until everything is imported, which lives as long as the worker
    os.setpgrp()
    _ask_kernel(_PR_SET_PDEATHSIG, signal.SIGKILL)
    for fd in (1, 2):
        os.dup2(theirs, fd)
    for fd in (output, theirs):
        os.close(fd)
    importlib.import_module(program).main(*files)


class _Signals:
    """SIGTERM and SIGCHLD, which wake up whoever waits on `fd`."""

    def __init__(self) -> None:
        self.told = False
        """Whether SIGTERM has come."""
        self.fd, self._end = os.pipe()
        for fd in (self.fd, self._end):
            os.set_blocking(fd, False)
        signal.set_wakeup_fd(self._end, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, self._tell)

    def _tell(self, *_: object) -> None:
        self.told = True

    def clear(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.read(self.fd, _CHUNK)

    def forget(self) -> None:
        """In the worker: everything as it was."""
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        for fd in (self.fd, self._end):
            os.close(fd)


class Keeper:
    """Of the process `worker`, for the process `engine`; `output` is what the worker and its children write to."""

    def __init__(self, worker: int, engine: int, output: int, signals: _Signals):
        self._worker, self._engine, self._signals = worker, engine, signals
        self._status: int | None = None
        self._fd, self._output = output, Output(1)
        os.set_blocking(output, False)
        self._waited_on = {fd for fd in (output, signals.fd, _handle_of(engine)) if fd is not None}

    def keep(self) -> None:
        """Until the worker, or the need for it, has ended; then end all that is left, and this process."""
        while self._status is None and not self._signals.told and os.getppid() == self._engine:
            self._look(LOOK_S)
        self._waited_on &= {self._fd, self._signals.fd}
        for number in (signal.SIGTERM, signal.SIGKILL):
            self._end(number)
        while self._read():
            pass
        self._output.close()
        _end_as(self._status)

    def _look(self, seconds: float) -> None:
        """Take what was written and who has ended; wait so long for it at most."""
        poll = select.poll()
        for fd in self._waited_on:
            poll.register(fd, select.POLLIN)
        poll.poll(1000.0 * seconds)
        self._signals.clear()
        self._read()
        self._has_children()

    def _read(self) -> int:
        """Take some output; how many bytes. It is not waited for any more once nobody could write."""
        try:
            data = os.read(self._fd, _CHUNK)
        except BlockingIOError:
            return 0
        if not data:
            self._waited_on.discard(self._fd)
        self._output.add(data)
        return len(data)

    def _has_children(self) -> bool:
        """Whether there is anybody left to end; those that have ended are let go of."""
        with contextlib.suppress(ChildProcessError):
            while (found := os.waitpid(-1, os.WNOHANG))[0]:
                if found[0] == self._worker:
                    self._status = found[1]
            return True
        return False

    def _end(self, number: int) -> None:
        """Signal everybody, until nobody is left or the grace is over. Who is asked is asked once."""
        asked: set[int] = set()
        until = time.monotonic() + GRACE_S
        with contextlib.suppress(OSError):
            os.killpg(self._worker, number)
        while self._has_children() and time.monotonic() < until:
            for pid in set(_descendants(os.getpid())) - asked:
                with contextlib.suppress(OSError):
                    os.kill(pid, number)
                if number == signal.SIGTERM:
                    asked.add(pid)
            self._look(_AGAIN_S)


def _descendants(pid: int) -> list[int]:
    """The children of a process, their children, and so on, as `/proc` tells; none where there is no `/proc`."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc") if os.path.isdir("/proc/self") else ():
        with contextlib.suppress(OSError, ValueError), open(f"/proc/{int(name)}/stat", "rb") as file:
            parent = int(file.read().rpartition(b")")[2].split()[1])
            children.setdefault(parent, []).append(int(name))
    found = [pid]
    for one in found:
        found += children.get(one, [])
    return found[1:]


def _ask_kernel(what: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(what, value, 0, 0, 0)


def _handle_of(pid: int) -> int | None:
    """A file that can be read from when the process has ended; None where there is no such thing."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None


def _end_as(status: int | None) -> None:
    """End as the worker did: by the same signal, without a second core dump, or with the same exit code."""
    code = 1 if status is None else -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
    if code < 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with contextlib.suppress(OSError):
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)
