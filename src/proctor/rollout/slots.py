"""The engine's half of a slot: which trial it holds and what that trial waits for.

    FREE -> STARTING -> NEED(stage) -> EXECUTE -> NEED(stage) | ... -> FREE

Warm-up steps and the steps of a chunk happen in the worker, so here a slot is STARTING or EXECUTE until its worker
asks.

A slot that holds a trial is, at every moment, in one of five places: in its environment (made, reset, stepped,
rendered), in a forward of its policy, waiting (for a forward to start, or for its worker to be done with another slot),
being recorded (metrics, arrays, video on disk), or on its way between worker and engine. `TimeAccount` says how long.
Four are measured with clocks that are read anyway, or once per trial; the way is what is left. Attempts that broke do
not count.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from enum import Enum, auto
from typing import TYPE_CHECKING, NamedTuple

from proctor.rollout.ask.lanes import LaneStats
from proctor.rollout.ask.requests import Request
from proctor.rollout.tasks import Task
from proctor_host.messages import Spent
from proctor_host.trials import Trial

if TYPE_CHECKING:
    from proctor.rollout.ask.agents import AgentRuntime
    from proctor.rollout.crew import Member
    from proctor.rollout.replicated import ReplicatedAgent


class SlotState(Enum):
    FREE = auto()
    STARTING = auto()
    NEED = auto()
    EXECUTE = auto()


class Parted(NamedTuple):
    """A trial that has left its slot; when it had come, and whether its policy was asked in the worker."""

    trial: Trial
    since: float
    in_worker: bool


class Slot:
    """`ticket` changes whenever the slot moves on, so an answer that comes too late is known as such."""

    __slots__ = ("agent", "in_worker", "last_task", "member", "number", "request", "since", "state", "ticket", "trial")

    def __init__(self, member: Member, number: int):
        self.member, self.number = member, number
        self.state = SlotState.FREE
        self.ticket = 0
        self.trial: Trial | None = None
        self.agent: AgentRuntime | ReplicatedAgent | None = None
        self.request: Request | None = None
        """What the trial asks of its policy, while there is a trial."""
        self.last_task: str | None = None
        self.since = 0.0
        """When its trial came."""
        self.in_worker = False
        """Whether the policy of its trial is asked in the worker."""

    def assign(self, trial: Trial, task: Task, agent: AgentRuntime | ReplicatedAgent) -> None:
        """Take a trial. Its observations will be in the worker's columns, where its task has such."""
        self.trial, self.agent = trial, agent
        self.in_worker = agent.is_asked_in(self.member.worker)
        self.request = Request(self, trial, task, agent.first_stage)
        if task.layout is not None:
            self.request.see(self.member.worker.columns(task), self.number)
        self.state, self.since = SlotState.STARTING, time.monotonic()
        self.ticket += 1
        self.member.live += 1
        self.member.running += 1

    def ask(self, now: float) -> Request:
        """The slot's request, with its freshest observation."""
        self.ticket += 1
        if self.state is not SlotState.NEED:
            self.state = SlotState.NEED
            self.member.running -= 1
        assert self.request is not None
        return self.request.ask(self.ticket, now)

    def execute(self) -> None:
        """The worker has something to do for this slot."""
        self.state = SlotState.EXECUTE
        self.member.running += 1

    def release(self) -> None:
        self.member.live -= 1
        if self.state is not SlotState.NEED:
            self.member.running -= 1
        self.state = SlotState.FREE
        self.ticket += 1
        self.trial = self.agent = self.request = None


PLACES = ("environment", "inference", "transfer", "waiting", "recording")


class TimeAccount:
    """Slot-seconds of finished trials: with 16 slots, a minute has 16 slot-minutes."""

    def __init__(self) -> None:
        self._trials_s = 0.0
        self._spent = Spent()

    def add(self, seconds: float, spent: Spent) -> None:
        """A trial was done after so many seconds in its slot."""
        self._trials_s += seconds
        self._spent = Spent(*(a + b for a, b in zip(self._spent, spent, strict=True)))

    def seconds(self, lanes: Iterable[LaneStats]) -> dict[str, float]:
        """By place, in the order of `PLACES`; empty before any trial is done. What the lanes did for trials that
        broke is in here, so the sum may exceed the trials' time."""
        if self._trials_s == 0.0:
            return {}
        stats, spent = list(lanes), self._spent
        inference = sum(s.slot_s for s in stats)
        waiting = sum(s.queued_s for s in stats) + spent.turns_s
        measured = spent.environment_s + inference + waiting + spent.recording_s
        transfer = max(self._trials_s - measured, 0.0)
        values = spent.environment_s, inference, transfer, waiting, spent.recording_s
        return dict(zip(PLACES, values, strict=True))
