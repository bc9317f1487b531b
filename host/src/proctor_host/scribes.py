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
"""Trials that are running or not recorded, for which one more scribe is called."""
LANES = 2
TRIES = 2
"""How often the same records are tried by scribes that die of them."""
START_S, END_S = 300.0, 10.0


class Scribe:
    """One of them. Making it waits until it is there; raises Closed, or what kept it from being started, where it does
    not come. Each of its `lanes` takes one parcel at a time: while the files of one are synced, those of the next are
    measured."""

    def __init__(self, line: Sequence[str], told: Mapping[str, Any]):
        pairs, trays = [socket.socketpair() for _ in range(LANES)], [Tray.create() for _ in range(LANES)]
        self.lanes = [Lane(self, Parcels(ours, tray, None)) for (ours, _), tray in zip(pairs, trays)]
        files = [fd for (_, theirs), tray in zip(pairs, trays) for fd in (theirs.fileno(), tray.fd)]
        self._ending = threading.Lock()
        try:
            self._process = subprocess.Popen(
                [*line, *map(str, files)], pass_fds=files, stdin=subprocess.DEVNULL, start_new_session=True
            )
        except OSError:
            self.close()
            raise
        finally:
            for _, theirs in pairs:
                theirs.close()
        try:
            self.lanes[0].parcels.send(told)
            for lane in self.lanes:
                lane.parcels.receive(START_S)
        except BaseException:
            self.end()
            self.close()
            raise

    def hang_up(self) -> None:
        """There is nothing more to do for it."""
        for lane in self.lanes:
            lane.parcels.hang_up()

    def end(self) -> str:
        """Let it end; how it did. May be called again, and on another thread."""
        self.hang_up()
        with self._ending:
            try:
                code = self._process.wait(END_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                code = self._process.wait()
        return f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"

    def close(self) -> None:
        """Let go of the ways to it, which nobody uses."""
        for lane in self.lanes:
            lane.parcels.close()


class Lane:
    """One way to a scribe."""

    def __init__(self, scribe: Scribe, parcels: Parcels):
        self.scribe, self.parcels = scribe, parcels
        self._knows: set[str] = set()

    def record(self, cuts: Sequence[Cut], tasks: Mapping[str, Task]) -> list[Event]:
        """Have these recorded. Raises Closed where the scribe has died."""
        new = [task.plain() for name, task in tasks.items() if name not in self._knows]
        self.parcels.send({"tasks": new, "cuts": cuts})
        found: list[Event] = self.parcels.receive()
        self._knows.update(tasks)
        return found


class Scribes:
    """As many as are worth it, `most` of them. Only where `extras` say how one is started."""

    def __init__(self, cfg: WorkerCfg, extras: Extras):
        self._line = extras.scribe()
        self._cfg, self._extras = cfg, f"{type(extras).__module__}:{type(extras).__qualname__}"
        self._asked_for = cfg.record.processes
        self._most = 0
        self._all: list[Scribe | None] = []
        """Those that are there, and None for each that is on its way."""
        self._free: list[Lane] = []
        self._given_up: str | None = None
        """Why nothing is recorded any more."""
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

    def due(self, trials: int) -> bool:
        """Whether to `call_one`, where so many trials are running or not recorded."""
        count = len(self._all)
        if count >= self._most or trials < EACH * count + (1 if self._asked_for else EACH):
            return False
        self._all.append(None)
        return True

    def call_one(self) -> list[Event]:
        """Call one. Where it does not come, there will be no further ones."""
        assert self._line is not None
        found: list[Scribe] = []
        try:
            found.append(Scribe(self._line, {"cfg": self._cfg.plain(), "extras": self._extras}))
        except Exception as problem:  # of the options of a task, too, which may not be anything that can be sent
            self._most = 0
            why = str(problem) or "it ended at once"
            print(f"a process for records does not start, and they are made on threads: {why}", file=sys.stderr)
        with self._change:
            self._all.remove(None)
            self._all += found
            self._free += [lane for scribe in found for lane in scribe.lanes]
            self._change.notify_all()
        return []

    def record(self, cuts: Sequence[Cut], tasks: Mapping[str, Task]) -> list[Event] | None:
        """Have these recorded, by the next who is free; None where nobody has come. On any thread."""
        said = ""
        for _ in range(TRIES if self._given_up is None else 0):
            lane = self._take()
            if lane is None:
                return None
            try:
                found = lane.record(cuts, tasks)
            except Closed:
                said = self._replace(lane)
                continue
            except Exception as problem:
                self._replace(lane)
                said = f"could not be told of them ({type(problem).__name__}: {problem})"
                continue
            with self._change:
                lives = lane.scribe in self._all
                self._free += [lane] if lives else []
                self._change.notify()
            if not lives:
                lane.parcels.close()
            return found
        trials = ", ".join([str(cut.start.trial.key) for cut in cuts])
        return [
            Fatal(f"the records of {trials} cannot be written: the process that measured them {said}, {TRIES} times")
        ]

    def _take(self) -> Lane | None:
        with self._change:
            while not self._free and self._all:
                self._change.wait()
            return self._free.pop() if self._free else None

    def _replace(self, lane: Lane) -> str:
        """Another one in the place of a scribe that has died, which this thread had a lane to; how it did."""
        scribe = lane.scribe
        idle: list[Lane] = []
        said = scribe.end()
        lane.parcels.close()
        with self._change:
            first = scribe in self._all
            if first:
                self._all[self._all.index(scribe)] = None
                idle = [lane for lane in self._free if lane.scribe is scribe]
                self._free = [lane for lane in self._free if lane.scribe is not scribe]
        for lane in idle:
            lane.parcels.close()
        if first:
            self.call_one()
        return said

    def close(self) -> None:
        """Let go of them all; nobody has anything to record."""
        everyone = [scribe for scribe in self._all if scribe is not None]
        self._all, self._free = [], []
        for scribe in everyone:
            scribe.hang_up()
        for scribe in everyone:
            scribe.end()
            scribe.close()
