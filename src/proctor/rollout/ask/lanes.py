"""Lanes: one queue and one thread for each (agent, stage).

A forward starts when `max_batch` requests wait, or when no running slot could still join (one that waits for another
stage could not), or when the oldest has waited `max_wait`. Where no `max_wait` is configured, it is about as long as a
forward takes, and longer while every worker still has steps to do: gathering more rows then costs nothing. Nor are
slots left behind that will be back soon. While a forward runs, environments go on stepping and requests gather for the
next one. Requests that cannot share a batch (other observation or action shapes) wait in separate rows of the same
lane. Nothing of this changes a trial, only how long it takes.

A forward that is known to be short is run on the engine's own thread when that has nothing else to do: handing it to
another thread would take longer than the forward itself. `supervisor` sees to it that a policy that hangs there does
not take the engine with it. Where forwards are shorter than what the engine does about each of them, several are run
one after the other and answered together: a policy that is asked row by row costs what its rows cost, not an errand
for each.
"""

from __future__ import annotations

import math
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from proctor.policies.protocol import Stage
from proctor.rollout.ask.requests import Request
from proctor.rollout.ask.rows import RowFindings
from proctor.rollout.ask.runner import Answers, PolicyRunner
from proctor_host.errors import explain

MAX_WAIT_S = 0.05
SHORT_S = 0.002
MARGIN_S = 0.001
WORTH = 0.5
"""Of a forward: more is not waited for slots to come back."""
QUICK_S = 0.0003
"""A forward so quick that waking up once more, for company, would cost as much."""
TICK_S = 0.001
"""Shorter waits are not worth it: the system's clock for waiting is no finer."""


_RUNNING = threading.local()
"""`lane`: whose forward this thread runs."""


@contextmanager
def uncounted() -> Iterator[None]:
    """What is done within, in a forward, is no time of the policy's: its limit holds for what follows."""
    lane: Lane | None = getattr(_RUNNING, "lane", None)
    if lane is not None:
        lane.started_at = math.inf
    try:
        yield
    finally:
        if lane is not None:
            lane.started_at = time.monotonic()


class Moment(NamedTuple):
    """What the engine knows when it looks at its lanes. `spare_s(now)`: how long until the first worker has nothing to
    do; `here`: the engine's thread has nothing else to do."""

    now: float
    spare_s: Callable[[float], float]
    here: bool


@dataclass
class LaneStats:
    """How well a lane batched: forwards, rows, seconds inside the policy. `slot_s`: the same once for each row that
    waited for them; `queued_s`: what rows waited before their forward began. `found`: what forwards that were asked
    again showed; these are not counted."""

    forwards: int = 0
    rows: int = 0
    seconds: float = 0.0
    slot_s: float = 0.0
    queued_s: float = 0.0
    found: RowFindings = field(default_factory=RowFindings)

    def count(self, requests: Sequence[Request], started_at: float, seconds: float, forwards: int = 1) -> None:
        """Add forwards that these requests have waited for."""
        rows = len(requests)
        self.forwards += forwards
        self.rows += rows
        self.seconds += seconds
        self.slot_s += rows * seconds
        self.queued_s += rows * started_at - sum([request.since for request in requests])

    def add(self, other: LaneStats) -> None:
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)


class Lane:
    """Call from the engine's thread only; `deliver` is called with (lane, answers) on the thread that ran the
    forward."""

    def __init__(self, runner: PolicyRunner, stage: Stage, max_batch: int, deliver: Callable[[Lane, Answers], None]):
        self.runner, self.stage, self.max_batch = runner, stage, stage.max_batch or max_batch
        self.stats = LaneStats()
        self.waiting: dict[Any, deque[Request]] = {}
        self.in_flight: list[Request] = []
        self.started_at: float | None = None
        self.retired = False
        """Replaced by another lane: what it still delivers is not wanted."""
        self._alone: deque[Request] = deque()
        self._deliver = deliver
        self._recent_s = 0.0
        self._turn_s = 0.0
        """How long a slot lately took to come back, with another step or chunk behind it."""
        self._landed_at = 0.0
        self._work: queue.SimpleQueue[list[Request] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._serve, name=f"proctor-{stage.name}", daemon=True)
        self._thread.start()

    def _due(self, since: float, moment: Moment) -> float:
        """Until when the oldest request may wait for company."""
        if self.stage.max_wait_s is not None:
            return since + self.stage.max_wait_s
        if self._recent_s == 0.0:
            return since + MAX_WAIT_S
        if self._recent_s < QUICK_S:
            return since
        soon = max(since + min(self._recent_s, MAX_WAIT_S), self._landed_at + self._patience_s())
        before_idle = moment.now + moment.spare_s(moment.now) - self._recent_s - MARGIN_S
        return max(soon, min(before_idle, since + MAX_WAIT_S))

    def _patience_s(self) -> float:
        """How long after a forward those it has answered are worth waiting for: until the last is back, where their
        steps are short next to a forward. Otherwise two halves of the slots would take turns for ever, each waiting for
        the other's forward."""
        back_s = 2 * self._turn_s + MARGIN_S
        return back_s if back_s < WORTH * self._recent_s else 0.0

    def put(self, request: Request) -> None:
        if request.lane is self:
            self._turn_s += 0.2 * (request.since - self._landed_at - self._turn_s)
        requests = self.waiting.get(request.task.key)
        if requests is None:
            requests = self.waiting[request.task.key] = deque()
        requests.append(request)

    def put_alone(self, request: Request) -> None:
        """For a forward of its own: the search for a request that makes the policy hang."""
        self._alone.append(request)

    def take_alone(self) -> list[Request]:
        taken, self._alone = list(self._alone), deque()
        return taken

    def drop(self, owner: Any) -> None:
        """Forget what a slot or seat asked for."""
        for requests in self.waiting.values():
            for request in [r for r in requests if r.owner is owner]:
                requests.remove(request)
        self._alone = deque(r for r in self._alone if r.owner is not owner)

    @property
    def asked_alone(self) -> bool:
        """Whether a request waits for a forward of its own."""
        return bool(self._alone)

    @property
    def asked(self) -> bool:
        """Whether a request waits for a forward."""
        return bool(self._alone) or any(self.waiting.values())

    def held(self, key: Any) -> int:
        """How many slots wait here for an answer, by request key."""
        flying = len(self.in_flight) if self.in_flight and self.in_flight[0].task.key == key else 0
        return flying + len(self.waiting.get(key, ()))

    def dispatch(self, moment: Moment, live: dict[Any, int], others: Sequence[Lane] = ()) -> float | None:
        """Start a forward if it is time. `live` counts the running slots per request key, `others` are the lanes of the
        same agent: who waits there cannot join here. Otherwise, when to look again."""
        if self.in_flight:
            return None
        if self._alone:
            self._start([self._alone.popleft()], moment.now, here=False)
            return None
        soonest = None
        for key, requests in self.waiting.items():
            if not requests:
                continue
            due = self._due(requests[0].since, moment)
            could_join = live.get(key, 0) - sum([lane.held(key) for lane in others])
            whole = len(requests) >= min(self.max_batch, could_join)
            if whole or due <= moment.now + TICK_S:
                batch = [requests.popleft() for _ in range(min(len(requests), self._most()))]
                self._start(batch, moment.now, moment.here)
                return None
            soonest = due if soonest is None else min(soonest, due)
        return soonest

    def _most(self) -> int:
        """How many requests are taken at once: those of one forward, or of several that are quick even together."""
        several = int(QUICK_S / self._recent_s) if 0.0 < self._recent_s < QUICK_S else 1
        return self.max_batch * max(several, 1)

    def _start(self, requests: list[Request], now: float, here: bool) -> None:
        self.in_flight, self.started_at = requests, now
        if self._recent_s > SHORT_S:
            for request in requests:
                request.lane = self
        if here and 0.0 < self._recent_s < SHORT_S and not self.runner.policy.elsewhere:
            self._forward(requests)
        else:
            self._work.put(requests)

    def landed(self, seconds: float) -> None:
        """The forward in flight has come back."""
        forwards = self.forwards(len(self.in_flight))
        if self.started_at is not None:
            self._landed_at = self.started_at + seconds
            self.stats.count(self.in_flight, self.started_at, seconds, forwards)
        each = seconds / forwards
        self._recent_s = each if self._recent_s == 0.0 else 0.7 * self._recent_s + 0.3 * each
        self.in_flight, self.started_at = [], None

    def forwards(self, rows: int) -> int:
        """How many forwards so many rows take."""
        return max(-(-rows // self.max_batch), 1)

    def close(self) -> None:
        """No more forwards. A thread that is stuck in the policy is left behind."""
        self._work.put(None)

    def join(self, seconds: float) -> None:
        self._thread.join(seconds)

    def _serve(self) -> None:
        while (requests := self._work.get()) is not None:
            try:
                self._forward(requests)
            except BaseException as problem:  # whatever it is, nobody but the policy raises it on this thread
                self._deliver(self, Answers.failed(requests, explain(problem)))

    def _forward(self, requests: list[Request]) -> None:
        _RUNNING.lane = self
        stage = self.stage.name
        answers = self.runner.answers(stage, requests, self.max_batch)
        if found := self.runner.examine(stage, self._begin):
            self.stats.found += found
        self._deliver(self, answers)

    def _begin(self) -> None:
        """A forward is asked again: the limit holds for each."""
        self.started_at = time.monotonic()
