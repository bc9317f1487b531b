"""A worker in the caller's process: no isolation, no cost. A hang cannot be interrupted, only noticed afterwards."""

from __future__ import annotations

import time

import numpy as np

from proctor import suites
from proctor.config.models import AgentCfg
from proctor.errors import InputError
from proctor.rollout.ask.runner import PolicyRunner
from proctor.rollout.backends.base import Lost, Worker
from proctor.rollout.messages import Command, Event, TaskInfo
from proctor.rollout.worker.host import Host
from proctor.rollout.worker.pulse import Stopwatch
from proctor.rollout.worker.trial import HostCfg


class InlineWorker(Worker):
    def __init__(self, cfg: HostCfg, slots: int):
        _refuse_isolated(cfg)
        self.slots = slots
        self._events: list[Event] = []
        self._host = Host(cfg, slots, self._events.append, Stopwatch())

    def send(self, command: Command) -> None:
        self._host.handle(command)

    def run(self, slot: int, actions: np.ndarray, valid: bool) -> None:
        self._host.run(slot, actions, valid)

    def adopt(self, agent: AgentCfg, runner: PolicyRunner, infos: tuple[TaskInfo, ...]) -> None:
        self._host.residents.lend(agent.name, runner)

    def flush(self) -> None:
        pass

    def events(self) -> list[Event]:
        events, self._events[:] = list(self._events), []
        return events

    def work(self, seconds: float) -> None:
        self._host.work(time.monotonic() + seconds)

    @property
    def busy(self) -> bool:
        return self._host.busy or bool(self._events)

    def fileno(self) -> None:
        return None

    def lost(self) -> Lost | None:
        return None

    def drain(self) -> list[Event]:
        return self.events()

    def kill(self) -> None:
        self._host.close()


def _refuse_isolated(cfg: HostCfg) -> None:
    for name, task in cfg.tasks.items():
        if suites.isolated(task):
            raise InputError(
                f'task "{name}" runs code of yours, which stays out of the main process; found workers: inline, set '
                "workers: process"
            )
