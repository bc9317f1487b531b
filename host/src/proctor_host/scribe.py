"""The program of a scribe: a process that makes records of trials that have ended on a device, see
`proctor_host.scribes`. It inherits sockets and memory, and ends when whoever has started it is gone."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import traceback
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

WRITERS = 16
"""Files that are written at once: a disk syncs many in about the time of one."""


def main() -> None:
    """The arguments are the numbers of the inherited files, a socket and memory for each lane. Does not return: when
    nobody wants anything any more there is nothing left to tidy up."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    files = list(map(int, sys.argv[1:]))
    for fd in files:
        os.set_inheritable(fd, False)
    lanes = [Parcels(socket.socket(fileno=one), None, Tray(two)) for one, two in zip(files[::2], files[1::2])]
    try:
        told = lanes[0].receive()
        cfg = WorkerCfg.from_plain(told["cfg"])
        extras = import_object(told["extras"])(cfg)
        desk = Desk(cfg, Recorder(cfg, extras))
        collect_seldom()
        with extras.pinned():
            extras.warm_up()
            threads = [threading.Thread(target=_serve, args=(desk, lane)) for lane in lanes]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    except Closed:
        pass
    sys.stderr.flush()
    os._exit(0)


def _serve(desk: Desk, lane: Parcels) -> None:
    """Until nobody wants anything any more. Whatever else happens ends the process: who waits for an answer would wait
    for ever."""
    tasks: dict[str, Task] = {}
    try:
        lane.send({"pid": os.getpid()})
        while True:
            lane.send(desk.record(lane.receive(), tasks))
    except Closed:
        return
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)


class Desk:
    """Where cuts become records: one after the other, while the files of others are written."""

    def __init__(self, cfg: WorkerCfg, recorder: Recorder):
        self._cfg, self._recorder = cfg, recorder
        self._measuring = threading.Lock()
        self._writers = ThreadPoolExecutor(WRITERS)

    def record(self, parcel: dict[str, Any], tasks: dict[str, Task]) -> list[Event]:
        """What came of each of these trials, once their records are on disk. Tasks that have not been told of before
        come with them, and go to `tasks`."""
        for plain in parcel["tasks"]:
            task = Task.from_plain(plain, self._cfg.tasks)
            tasks[task.name] = task
        with self._measuring:
            made = [self._begun(cut, tasks[cut.start.trial.task]) for cut in parcel["cuts"]]
        return [each() for each in made]

    def _begun(self, cut: Cut, task: Task) -> Callable[[], Event]:
        """Measure one; what waits for its file, and says what came of it."""
        made = measured(cut, task, self._cfg.record, self._recorder)
        if not isinstance(made, Measured):
            return lambda: made
        return self._writers.submit(made.written).result if made.has_file else made.written
