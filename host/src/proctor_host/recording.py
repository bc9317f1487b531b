"""Trials that have ended, on their way to the disk while the worker goes on stepping.

A trial's record can be cut out once the rounds that it lies in have come to the host. It is made into an episode,
measured and written by the `Recorder`, as everywhere, and reported only then.
"""

from __future__ import annotations

import sys
import threading
import time
from collections import deque
from typing import Callable, NamedTuple

import numpy as np

from proctor_host.beside import Beside
from proctor_host.blocks import Blocks
from proctor_host.cfg import RecordCfg
from proctor_host.episode import Outcome
from proctor_host.errors import BREAKS, InputError, explain
from proctor_host.files import write_synced
from proctor_host.kit import Fetched
from proctor_host.messages import FREED, Done, Event, Fatal, Fault, Spent
from proctor_host.trial import EndedTrial, Ending, Recorded, RunningTrial

TURN_S = 5e-5
"""How long a thread that writes records may keep the interpreter while the stepping thread wants it. Every call into a
library of arrays gives the interpreter away and wants it back; Python's own 5 ms could be lost at each of them."""


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

    def end(self, cfg: RecordCfg, keeps_observations: bool) -> EndedTrial:
        """The finished trial. Raises what cannot be made into a record."""
        assert self.begun is not None
        assert self.last is not None
        trial = self.trial
        trial.first = self.begun.bytes()
        if keeps_observations:
            trial.record.observe(self._first_seen(self.begun))
        trial.record.lies_in(self.blocks, self.world, self.first, self.stop)
        return trial.finish(Ending(self.outcome, self.error, self.success_known, self.last.bytes()), cfg)

    def _first_seen(self, begun: Sight) -> list[np.ndarray]:
        leaves = begun.leaves()
        if self.seen_at < 0:
            return leaves
        assert self.blocks is not None
        found = dict(self.blocks.rows(self.world, self.seen_at, self.seen_at + 1))
        return [found[str(i)][0] for i in range(len(leaves))]


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


class Recording:
    """`record` measures a finished trial and puts it on disk, on a thread of `beside`, and says what to report."""

    def __init__(self, cfg: RecordCfg, beside: Beside[Event], record: Callable[[Report], Event]):
        self._cfg, self._beside, self._record_one = cfg, beside, record
        self.outstanding: dict[int, Leaving] = {}
        """Those that are not yet reported, by identity, the oldest first."""
        self._waiting: deque[Leaving] = deque()
        self._recorded: deque[Leaving] = deque()
        self._lock = threading.Lock()
        self._turn_s: float | None = None

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
        self._beside.put(lambda: self._record(leaving))

    def _record(self, leaving: Leaving) -> Event:
        trial = leaving.trial
        try:
            ended = leaving.end(self._cfg, trial.record.keeps_observations)
            event = self._record_one(Report(FREED, ended, Spent(leaving.seconds), time.monotonic()))
        except BREAKS as problem:
            event = Fault(FREED, Outcome.ENV_ERROR, explain(problem), trial.start.trial)
        self._recorded.append(leaving)
        return event

    def settle(self) -> None:
        """What has been recorded is about to be reported."""
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
