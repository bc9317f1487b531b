"""Trials that have ended, on their way to the disk while the worker goes on stepping.

A trial's record can be cut out once the rounds that it lies in have come to the host. It is made into an episode,
measured and written by the `Recorder`, as everywhere, and reported only then: by scribes where there are any, else on
threads of this process.
"""

from __future__ import annotations

import sys
import threading
import time
from collections import deque
from typing import Mapping, NamedTuple, Sequence

import numpy as np

from proctor_host.beside import Beside
from proctor_host.blocks import Blocks
from proctor_host.cfg import RecordCfg
from proctor_host.cut import Cut
from proctor_host.episode import Outcome
from proctor_host.errors import BREAKS, InputError, explain
from proctor_host.files import write_synced
from proctor_host.kit import Fetched
from proctor_host.messages import FREED, Done, Event, Fatal, Fault, Spent
from proctor_host.scribes import Scribes
from proctor_host.task import Task
from proctor_host.trial import EndedTrial, Recorded, Recorder, RunningTrial

TURN_S = 5e-5
"""How long a thread that writes records may keep the interpreter while the stepping thread wants it. Every call into a
library of arrays gives the interpreter away and wants it back; Python's own 5 ms could be lost at each of them."""
TOGETHER = 8
"""Trials that go to a scribe in one parcel, at most."""


class Sight:
    """An observation on its way to the host: this row of these leaves."""

    __slots__ = ("fetched", "row")

    def __init__(self, fetched: Fetched, row: int):
        self.fetched, self.row = fetched, row

    def leaves(self) -> list[np.ndarray]:
        return [leaf[self.row] for leaf in self.fetched.get()]

    def bytes(self) -> bytes:
        return b"".join([leaf.tobytes() for leaf in self.leaves()])


class Leaving:
    """A trial that has ended in a world: its steps are in the rounds from `first` to `stop`, `seen_at` is the round
    after which its policy saw it first, -1 where that is `begun`, the observation that it began with."""

    def __init__(self, trial: RunningTrial, blocks: Blocks | None, world: int, rounds: tuple[int, int]):
        self.trial, self.blocks, self.world = trial, blocks, world
        self.first, self.stop = rounds
        self.seen_at = -1
        self.begun: Sight | None = None
        self.last: Sight | None = None
        self.seconds = 0.0
        self.outcome: Outcome | None = None
        self.error: str | None = None
        self.success_known = True

    @property
    def needed_from(self) -> int:
        """The first round that it needs."""
        return self.first if self.seen_at < 0 else self.seen_at

    @property
    def ready(self) -> bool:
        """Whether the rounds that it needs have come."""
        stop = self.stop if self.stop > self.first else self.seen_at + 1
        return self.blocks is None or stop <= 0 or self.blocks.has(stop)

    def cut(self) -> Cut:
        """All that its record is made of. Raises what kept its rounds from coming."""
        assert self.begun is not None
        assert self.last is not None
        trial, blocks = self.trial, self.blocks
        rows = np.empty((0, 8), np.uint8)
        if blocks is not None and self.stop > self.first:
            rows = blocks.cut(self.world, self.first, self.stop)
        seen = (
            blocks.cut(self.world, self.seen_at, self.seen_at + 1) if blocks is not None and self.seen_at >= 0 else None
        )
        return Cut(
            trial.start, trial.record.labels, trial.record.constants, {} if blocks is None else blocks.packing.kinds,
            rows, self.begun.leaves(), seen, self.last.bytes(), trial.end, trial.clipped_steps, trial.started,
            trial.stopped, self.seconds, self.outcome, self.error, self.success_known,
        )  # fmt: skip


class Report(NamedTuple):
    """What is to be said of a trial that has ended, once its record is on disk."""

    slot: int
    ended: EndedTrial
    spent: Spent
    began: float
    replica: str = ""

    def written(self, recorded: Recorded) -> Done | Fatal:
        """Write what is to be written, and say so."""
        try:
            if recorded.file is not None:
                write_synced(*recorded.file)
        except Exception as problem:
            return self.broke(problem)
        spent = self.spent._replace(recording_s=time.monotonic() - self.began)
        return Done(self.slot, recorded.result, spent, recorded.left, self.replica)

    def broke(self, problem: BaseException) -> Fatal:
        """The record cannot be written."""
        why = str(problem) if isinstance(problem, (InputError, OSError)) else explain(problem)
        return Fatal(f"the record of trial {self.ended.trial.key} cannot be written: {why}")


class Measured(NamedTuple):
    """A trial's record, ready to be written."""

    report: Report
    recorded: Recorded

    @property
    def has_file(self) -> bool:
        return self.recorded.file is not None

    def written(self) -> Done | Fatal:
        return self.report.written(self.recorded)


def measured(cut: Cut, task: Task, cfg: RecordCfg, recorder: Recorder) -> Measured | Fault | Fatal:
    """What a cut comes to; or why there is no record of it."""
    began = time.monotonic()
    try:
        ended = cut.finish(task, cfg)
    except BREAKS as problem:
        return Fault(FREED, Outcome.ENV_ERROR, explain(problem), cut.start.trial)
    report = Report(FREED, ended, Spent(cut.seconds), began)
    try:
        return Measured(report, recorder.record(ended))
    except Exception as problem:
        return report.broke(problem)


class Recording:
    """Has trials that have ended measured and put on disk, by `scribes` or on threads of `beside`, which report."""

    def __init__(self, cfg: RecordCfg, beside: Beside[Event], recorder: Recorder, scribes: Scribes):
        self._cfg, self._beside, self._recorder, self._scribes = cfg, beside, recorder, scribes
        self.outstanding: dict[int, Leaving] = {}
        """Those that are not yet reported, by identity, the oldest first."""
        self._waiting: deque[Leaving] = deque()
        self._ready: deque[Leaving] = deque()
        self._recorded: deque[Leaving] = deque()
        self._lock = threading.Lock()
        self._turn_s: float | None = None

    def expect(self, running: int) -> None:
        """So many trials are running: have enough scribes by the time they end."""
        while self._scribes.due(running + len(self.outstanding)):
            self._beside.put(self._scribes.call_one)

    def put(self, leaving: Leaving) -> None:
        """Record this trial, as soon as its rounds have come."""
        self.outstanding[id(leaving)] = leaving
        if self._turn_s is None:
            self._turn_s = sys.getswitchinterval()
            sys.setswitchinterval(TURN_S)
        with self._lock:
            ready = leaving.ready
            if not ready:
                self._waiting.append(leaving)
        if ready:
            self._begin(leaving)

    def look(self) -> None:
        """Begin with those whose rounds have come. On any thread."""
        with self._lock:
            some, self._waiting = self._waiting, deque()
            ready = []
            for leaving in some:
                (ready if leaving.ready else self._waiting).append(leaving)
        for leaving in ready:
            self._begin(leaving)

    def _begin(self, leaving: Leaving) -> None:
        self._ready.append(leaving)
        self._beside.put(self._record_some)

    def _record_some(self) -> list[Event]:
        """Record the oldest that are ready, as many as one goes with; none where others have taken them."""
        some: list[Leaving] = []
        with self._lock:
            while self._ready and len(some) < (TOGETHER if self._scribes.called else 1):
                some.append(self._ready.popleft())
        cuts, tasks, events = [], {}, []
        for leaving in some:
            try:
                cuts.append(leaving.cut())
                tasks[leaving.trial.task.name] = leaving.trial.task
            except BREAKS as problem:
                events.append(Fault(FREED, Outcome.ENV_ERROR, explain(problem), leaving.trial.start.trial))
        if cuts:
            written = self._scribes.record(cuts, tasks)
            events += self._here(cuts, tasks) if written is None else written
        self._recorded.extend(some)
        return events

    def _here(self, cuts: Sequence[Cut], tasks: Mapping[str, Task]) -> list[Event]:
        """Record these on this thread."""
        found: list[Event] = []
        for cut in cuts:
            with self._beside.computing:
                made = measured(cut, tasks[cut.start.trial.task], self._cfg, self._recorder)
            found.append(made.written() if isinstance(made, Measured) else made)
        return found

    def settle(self) -> None:
        """What has been recorded is reported, or is about to be."""
        while self._recorded:
            del self.outstanding[id(self._recorded.popleft())]

    def close(self) -> None:
        """Drop the trials whose rounds have not come. The others are reported by `beside`."""
        with self._lock:
            for leaving in self._waiting:
                del self.outstanding[id(leaving)]
            self._waiting.clear()
        if self._turn_s is not None:
            sys.setswitchinterval(self._turn_s)
            self._turn_s = None
