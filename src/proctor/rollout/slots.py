"""The engine's half of a slot: which trial it holds and what that trial waits for.

    FREE -> STARTING -> NEED(stage) -> EXECUTE -> NEED(stage) | ... -> FREE

Warm-up steps and the steps of a chunk happen in the worker, so here a slot is STARTING or EXECUTE until its worker
asks.
"""

from __future__ import annotations

import time
from enum import Enum, auto
from typing import TYPE_CHECKING, Any

from proctor.plan.trial import Trial
from proctor.rollout.ask.runner import Request, TaskEntry

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

    __slots__ = (
        "agent",
        "hops",
        "last_task",
        "member",
        "number",
        "since",
        "stage",
        "state",
        "task",
        "ticket",
        "trial",
        "wish",
    )

    def __init__(self, member: Member, number: int):
        self.member, self.number = member, number
        self.state = SlotState.FREE
        self.ticket = 0
        self.trial: Trial | None = None
        self.task: TaskEntry | None = None
        self.agent: AgentRuntime | None = None
        self.stage = ""
        self.wish: Any = None
        """The trial's request, while there is a trial."""
        self.last_task: str | None = None
        self.hops = 0
        self.since = 0.0
        """When its trial came."""

    def assign(self, trial: Trial, task: TaskEntry, agent: AgentRuntime) -> None:
        self.trial, self.task, self.agent = trial, task, agent
        self.stage, self.wish = agent.first_stage, Request(self, trial, task)
        self.state, self.hops, self.since = SlotState.STARTING, 0, time.monotonic()
        self.ticket += 1
        self.member.live += 1
        self.member.running += 1

    def request(self, now: float) -> Request:
        """Ask for the slot's stage with its freshest observation."""
        self.ticket += 1
        if self.state is not SlotState.NEED:
            self.state = SlotState.NEED
            self.member.running -= 1
        return self.wish.ask(self.ticket, now)

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
        self.trial = self.task = self.agent = self.wish = None
