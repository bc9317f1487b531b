"""What the engine sees of a worker, wherever it runs."""

from __future__ import annotations

import abc
from dataclasses import dataclass

import numpy as np

from proctor.rollout.messages import Command, Event


@dataclass(frozen=True)
class Lost:
    """A worker is gone. `slot` is the one whose environment code was running; None if none was, -1 for all."""

    reason: str
    slot: int | None
    hung: bool


class Worker(abc.ABC):
    """Takes commands, gives events. `flush` sends what has been gathered; `events` never blocks."""

    slots: int

    @abc.abstractmethod
    def send(self, command: Command) -> None: ...

    @abc.abstractmethod
    def run(self, slot: int, actions: np.ndarray, valid: bool) -> None:
        """Send Run: what is sent most."""

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
