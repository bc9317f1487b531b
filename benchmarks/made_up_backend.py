"""A backend without environments: its workers say of every trial, after a time that is drawn, that it has ended."""

from __future__ import annotations

import contextlib
import heapq
import itertools
import os
import threading
import time
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from proctor.rollout.backends.base import Backend, BackendOptions, Lost, Worker
from proctor.rollout.backends.inline import InlineWorker
from proctor.rollout.tasks import Task
from proctor_host.episode import Outcome
from proctor_host.messages import Close, Done, Event, Know, Probe, Spent, Start
from proctor_host.result import TrialResult


class Clockwork(threading.Thread):
    """Says of trials that they have ended, when their time has come."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._due: list[tuple[float, int, Player, Done]] = []
        self._order = itertools.count()
        self._changed = threading.Condition()
        self.start()

    def put(self, at: float, player: Player, done: Done) -> None:
        with self._changed:
            heapq.heappush(self._due, (at, next(self._order), player, done))
            self._changed.notify()

    def run(self) -> None:
        while True:
            with self._changed:
                while not self._due:
                    self._changed.wait()
                wait = self._due[0][0] - time.monotonic()
                if wait > 0:
                    self._changed.wait(wait)
                    continue
                _, _, player, done = heapq.heappop(self._due)
            player.say(done)


class Player(Worker):
    """A worker that ends every trial after a while, without an environment. A real worker says what tasks are."""

    knows: ClassVar[InlineWorker | None] = None
    clockwork: ClassVar[Clockwork | None] = None
    times: ClassVar[np.ndarray] = np.ones(1)

    def __init__(self, cfg: Any, slots: int, seed: int):
        self.slots = slots
        self._rng = np.random.default_rng(seed)
        self._said: list[Event] = []
        self._fd = os.eventfd(0, os.EFD_NONBLOCK)
        if Player.knows is None:
            Player.knows, Player.clockwork = InlineWorker(cfg, 1), Clockwork()

    def say(self, event: Event) -> None:
        self._said.append(event)
        os.eventfd_write(self._fd, 1)

    def send(self, command: Any) -> None:
        assert Player.knows is not None
        assert Player.clockwork is not None
        if isinstance(command, Start):
            seconds = float(self._rng.choice(Player.times))
            result = TrialResult(
                command.trial, Outcome.TRUNCATED, None, 10, None, 1.0, 10, wall_time_s=seconds, digest="0" * 64
            )
            Player.clockwork.put(time.monotonic() + seconds, self, Done(command.slot, result, Spent(seconds)))
        elif isinstance(command, Probe | Know):
            Player.knows.send(command)
            while Player.knows.busy:
                found = Player.knows.events()
                for event in found:
                    self.say(event)
                if not found:
                    Player.knows.work(0.1)
        elif isinstance(command, Close):
            os.close(self._fd)
            self._fd = -1

    def adopt(self, agent: Any, runner: Any) -> None:
        """Nobody asks it."""

    def columns(self, task: Task) -> Sequence[Any]:
        assert Player.knows is not None
        return [np.zeros((self.slots, *leaf.shape), leaf.dtype) for leaf in task.layout.leaves] if task.layout else ()

    def flush(self) -> None:
        """What is sent has arrived."""

    def events(self) -> list[Event]:
        with contextlib.suppress(BlockingIOError):
            os.eventfd_read(self._fd)
        said, self._said = self._said, []
        return said

    def lost(self) -> Lost | None:
        return None

    def drain(self) -> list[Event]:
        return []

    def kill(self) -> None:
        """There is nothing to end."""

    def fileno(self) -> int | None:
        return self._fd if self._fd >= 0 else None


class MadeUpOptions(BackendOptions):
    """`slots` of each worker."""

    slots: int


class MadeUp(Backend):
    """Players in the place of workers."""

    name: ClassVar[str] = "made_up"
    Options: ClassVar[type[BackendOptions]] = MadeUpOptions
    options: MadeUpOptions

    def shares(self, slots: int, count: int | None) -> list[int]:
        return [self.options.slots] * (slots // self.options.slots)

    def hire(self, slots: int) -> Worker:
        return Player(self.cfg, slots, slots)
