"""The engine's half of a slot: which trial it holds and what that trial waits for.

    FREE -> STARTING -> NEED(stage) -> EXECUTE -> NEED(stage) | ... -> FREE

Warm-up steps and the steps of a chunk happen in the worker, so here a slot is STARTING or EXECUTE until its worker
asks.
"""

from __future__ import annotations

import time
from enum import Enum, auto
from typing import TYPE_CHECKING

from proctor.rollout.ask.requests import Request
from proctor.rollout.tasks import Task
from proctor_host.trials import Trial

if TYPE_CHECKING:
    from proctor.rollout.ask.agents import AgentRuntime
    from proctor.rollout.crew import Member


class SlotState(Enum):
    FREE = auto()
    STARTING = auto()
    NEED = auto()
    EXECUTE = auto()


class Slot:
    """`ticket` changes whenever the slot moves on, so an answer that comes too late is known as such."""

    __slots__ = ("agent", "in_worker", "last_task", "member", "number", "request", "since", "state", "ticket", "trial")

    def __init__(self, member: Member, number: int):
        self.member, self.number = member, number
        self.state = SlotState.FREE
        self.ticket = 0
        self.trial: Trial | None = None
        self.agent: AgentRuntime | None = None
        self.request: Request | None = None
        """What the trial asks of its policy, while there is a trial."""
        self.last_task: str | None = None
        self.since = 0.0
        """When its trial came."""
        self.in_worker = False
        """Whether the policy of its trial is asked in the worker."""

    def assign(self, trial: Trial, task: Task, agent: AgentRuntime) -> None:
        """Take a trial. Its observations will be in the worker's columns, where its task has such."""
        self.trial, self.agent = trial, agent
        self.in_worker = agent.in_workers and self.member.worker.has_policies
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
