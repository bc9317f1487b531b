"""Workers in the caller's process: no isolation, no cost. A hang cannot be interrupted, only noticed afterwards."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from proctor import suites
from proctor.config.models import AgentCfg
from proctor.errors import InputError
from proctor.rollout.ask.runner import PolicyRunner
from proctor.rollout.backends.base import Backend, Lost, Worker
from proctor.rollout.tasks import Task
from proctor.rollout.worker import EngineExtras
from proctor_host.board import Board
from proctor_host.cfg import WorkerCfg
from proctor_host.host import Host
from proctor_host.limits import Watch, overdue
from proctor_host.messages import Command, Event


class InlineBackend(Backend):
    """One worker in the caller's process, for environments that are quick and trusted."""

    name: ClassVar[str] = "inline"
    in_this_process: ClassVar[bool] = True

    def shares(self, slots: int, count: int | None) -> list[int]:
        return [slots]

    def hire(self, slots: int) -> Worker:
        for name, task in self.cfg.tasks.items():
            if suites.isolated(task.suite, task.options):
                raise InputError(
                    f'task "{name}" runs code of yours, which stays out of the main process; found workers: inline, '
                    "set workers: process"
                )
        return InlineWorker(self.cfg, slots)


class InlineWorker(Worker):
    """Hands commands straight to its host."""

    def __init__(self, cfg: WorkerCfg, slots: int):
        self.slots = slots
        self._events: list[Event] = []
        self._host = Host(cfg, Board(slots), self._events.append, Watch(), EngineExtras(cfg))

    def send(self, command: Command) -> None:
        self._host.handle(command)

    def run(self, slots: Sequence[int], chunks: np.ndarray) -> None:
        self._host.run(slots, chunks)

    def adopt(self, agent: AgentCfg, runner: PolicyRunner) -> None:
        self._host.policies.lend(agent.name, runner)

    def columns(self, task: Task) -> Sequence[Any]:
        assert task.layout is not None
        return self._host.board.columns(task.layout)

    def flush(self) -> None:
        """Everything has been handed over already."""

    def events(self) -> list[Event]:
        events, self._events[:] = list(self._events), []
        return events

    def work(self, seconds: float) -> None:
        self._host.work(time.monotonic() + seconds)

    @property
    def busy(self) -> bool:
        return self._host.busy or bool(self._events)

    def stuck(self) -> str | None:
        watch = self._host.watch
        reason, slot = overdue(watch, self._host.cfg.limits), watch.read()[1]
        task = self._host.task_in(max(slot, 0))
        return None if reason is None else f'task "{task}": {reason}'

    def lost(self) -> Lost | None:
        return None

    def drain(self) -> list[Event]:
        return self.events()

    def kill(self) -> None:
        self._host.close()
