"""What the engine sees of a worker, wherever it runs."""

from __future__ import annotations

import abc
from dataclasses import dataclass

import numpy as np

from proctor.config.models import AgentCfg
from proctor.rollout.ask.runner import PolicyRunner
from proctor.rollout.messages import Command, Event, TaskInfo


@dataclass(frozen=True)
class Lost:
    """A worker is gone. `slot` is the one whose environment code was running; None if none was, -1 for all. `acting`:
    the code of a policy that lives there, not of an environment."""

    reason: str
    slot: int | None
    hung: bool
    acting: bool = False


class Worker(abc.ABC):
    """Takes commands, gives events. `flush` sends what has been gathered; `events` never blocks."""

    slots: int

    @abc.abstractmethod
    def send(self, command: Command) -> None: ...

    @abc.abstractmethod
    def run(self, slot: int, actions: np.ndarray, valid: bool) -> None:
        """Send Run: what is sent most."""

    @abc.abstractmethod
    def adopt(self, agent: AgentCfg, runner: PolicyRunner, infos: tuple[TaskInfo, ...]) -> None:
        """Have this agent's policy where the environments are. `runner`: as the engine has it."""

    @abc.abstractmethod
    def flush(self) -> None: ...

    @abc.abstractmethod
    def events(self) -> list[Event]: ...

    @abc.abstractmethod
    def work(self, seconds: float) -> None:
        """Step environments for about this long, where they live in this process."""

    @property
    @abc.abstractmethod
    def busy(self) -> bool:
        """Whether `work` has something to do."""

    @abc.abstractmethod
    def fileno(self) -> int | None:
        """What to wait on for events; None where `work` makes them."""

    @abc.abstractmethod
    def lost(self) -> Lost | None:
        """Whether the worker has died or hangs (then it has been killed)."""

    @abc.abstractmethod
    def drain(self) -> list[Event]:
        """After Close was sent: end it; the last events."""

    @abc.abstractmethod
    def kill(self) -> None:
        """End it at once."""
