"""Processes that make records of trials that have ended on a device, beside the one that steps its worlds.

A thousand worlds end hundreds of trials a second, and each takes milliseconds to measure, hash and pack: more than one
interpreter can do, and the one that steps has every millisecond to queue rounds in. So what was cut out of the rounds
goes through shared memory to *scribes*, processes of the same interpreter. They are called for one after the other
while there is enough to do; before that, and where they do not come, records are made on threads. A scribe that dies is
replaced, and what it had is done once more.
"""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from typing import Any, Mapping, Sequence

from proctor_host.beside import cores
from proctor_host.board import Tray
from proctor_host.cfg import WorkerCfg
from proctor_host.channel import Closed
from proctor_host.cut import Cut
from proctor_host.extras import Extras
from proctor_host.messages import Event, Fatal
from proctor_host.parcels import Parcels
from proctor_host.task import Task

EACH = 32
"""Trials that have ended and are not recorded, for which one more scribe is called."""
TRIES = 2
"""How often the same records are tried by scribes that die of them."""
END_S = 10.0


class Scribe:
    """One of them. Making it waits until it is there; raises OSError or Closed where it does not come."""

    def __init__(self, line: Sequence[str], told: Mapping[str, Any]):
        ours, theirs = socket.socketpair()
        tray = Tray.create()
        self._parcels = Parcels(ours, tray, None)
        files = (theirs.fileno(), tray.fd)
        try:
            with theirs:
                self._process = subprocess.Popen(
                    [*line, *map(str, files)], pass_fds=files, stdin=subprocess.DEVNULL, start_new_session=True
                )
        except OSError:
            self._parcels.close()
            raise
        self._knows: set[str] = set()
        try:
            self._parcels.send(told)
            self._parcels.receive()
        except BaseException:
            self.end()
            raise

    def record(self, cuts: Sequence[Cut], tasks: Mapping[str, Task]) -> list[Event]:
        """Have these recorded. Raises Closed where it has died of that."""
        new = [task.plain() for name, task in tasks.items() if name not in self._knows]
        self._parcels.send({"tasks": new, "cuts": cuts})
        found: list[Event] = self._parcels.receive()
        self._knows.update(tasks)
        return found

    def end(self) -> str:
        """Let it end; how it did."""
        self._parcels.close()
        try:
            code = self._process.wait(END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        return f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"


class Scribes:
    """As many as are worth it, `most` of them. Only where `extras` say how one is started."""

    def __init__(self, cfg: WorkerCfg, extras: Extras):
        self._line = extras.scribe()
        self._told = {"cfg": cfg.plain(), "extras": f"{type(extras).__module__}:{type(extras).__qualname__}"}
        self._asked_for = cfg.record.processes
        self._most = 0
        self._all: list[Scribe | None] = []
        """Those that are there, and None for each that is on its way."""
        self._free: list[Scribe] = []
        self._change = threading.Condition()

    def equip(self, on_host: bool) -> None:
        """Worlds on a device are to be stepped. On the processor they need every core themselves, so that there are
        scribes only where somebody has asked for them."""
        wanted = self._asked_for if self._asked_for is not None else 0 if on_host else cores()
        self._most = 0 if self._line is None else wanted

    @property
    def called(self) -> bool:
        """Whether there is one, or will be."""
        return bool(self._all)

    def due(self, outstanding: int) -> bool:
        """Whether to `call_one`, where so many trials are not recorded."""
        count = len(self._all)
        if count >= self._most or outstanding < EACH * count + (1 if self._asked_for else EACH):
            return False
        self._all.append(None)
        return True

    def call_one(self) -> list[Event]:
        """Call one. Where it does not come, there will be no further ones."""
        assert self._line is not None
        found: list[Scribe] = []
        try:
            found.append(Scribe(self._line, self._told))
        except (OSError, Closed) as problem:
            self._most = 0
            print(f"a process for records does not start: {problem or 'it ended at once'}", file=sys.stderr)
        with self._change:
            self._all.remove(None)
            self._all += found
            self._free += found
            self._change.notify_all()
        return []

    def record(self, cuts: Sequence[Cut], tasks: Mapping[str, Task]) -> list[Event] | None:
        """Have these recorded, by the next who is free; None where nobody has come. On any thread."""
        said = ""
        for _ in range(TRIES):
            scribe = self._take()
            if scribe is None:
                return None
            try:
                found = scribe.record(cuts, tasks)
            except Closed:
                said = self._replace(scribe)
                continue
            with self._change:
                self._free.append(scribe)
                self._change.notify()
            return found
        trials = ", ".join([str(cut.start.trial.key) for cut in cuts])
        return [
            Fatal(f"the records of {trials} cannot be written: the process that measured them {said}, {TRIES} times")
        ]

    def _take(self) -> Scribe | None:
        with self._change:
            while not self._free and self._all:
                self._change.wait()
            return self._free.pop() if self._free else None

    def _replace(self, scribe: Scribe) -> str:
        """Another one in the place of one that has died; how it did."""
        said = scribe.end()
        with self._change:
            self._all[self._all.index(scribe)] = None
        self.call_one()
        return said

    def close(self) -> None:
        """Let go of them all; nobody has anything to record."""
        everyone, self._all, self._free = self._all, [], []
        for scribe in everyone:
            if scribe is not None:
                scribe.end()
