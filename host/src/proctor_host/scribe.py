"""The program of a scribe: a process that makes records of trials that have ended on a device, see
`proctor_host.scribes`. It inherits a socket and memory, and ends when whoever has started it is gone."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable

from proctor_host.board import Tray
from proctor_host.cfg import WorkerCfg
from proctor_host.channel import Closed
from proctor_host.collecting import collect_seldom
from proctor_host.cut import Cut
from proctor_host.extras import import_object
from proctor_host.messages import Event
from proctor_host.parcels import Parcels
from proctor_host.recording import Measured, measured
from proctor_host.task import Task
from proctor_host.trial import Recorder

WRITERS = 8
"""Files that are written at once: a disk syncs many in about the time of one."""


def main() -> None:
    """The arguments are the numbers of the inherited files. Returns when nobody wants anything any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    files = list(map(int, sys.argv[1:]))
    for fd in files:
        os.set_inheritable(fd, False)
    parcels = Parcels(socket.socket(fileno=files[0]), None, Tray(files[1]))
    with contextlib.suppress(Closed):
        told = parcels.receive()
        cfg = WorkerCfg.from_plain(told["cfg"])
        extras = import_object(told["extras"])(cfg)
        desk = Desk(cfg, Recorder(cfg, extras))
        parcels.send({"pid": os.getpid()})
        collect_seldom()
        with extras.pinned():
            while True:
                parcels.send(desk.record(parcels.receive()))


class Desk:
    """Where cuts become records."""

    def __init__(self, cfg: WorkerCfg, recorder: Recorder):
        self._cfg, self._recorder = cfg, recorder
        self._tasks: dict[str, Task] = {}
        self._writers = ThreadPoolExecutor(WRITERS)

    def record(self, parcel: dict[str, Any]) -> list[Event]:
        """What came of each of these trials, once their records are on disk. Tasks that have not been told of before
        come with them."""
        for plain in parcel["tasks"]:
            task = Task.from_plain(plain, self._cfg.tasks)
            self._tasks[task.name] = task
        return [each() for each in [self._begun(cut) for cut in parcel["cuts"]]]

    def _begun(self, cut: Cut) -> Callable[[], Event]:
        """Measure one; what waits for its file, and says what came of it."""
        made = measured(cut, self._tasks[cut.start.trial.task], self._cfg.record, self._recorder)
        if not isinstance(made, Measured):
            return lambda: made
        return self._writers.submit(made.written).result if made.has_file else made.written
