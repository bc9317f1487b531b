"""An agent whose policy lives in replicas that workers ask directly: what stands for it in the engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from proctor.config.models import LimitsCfg
from proctor.rollout.ask.lanes import Lane, LaneStats, Moment
from proctor.rollout.ask.runner import Answers
from proctor.rollout.backends.base import Replicas, Worker
from proctor_host.messages import Asked, Consult


class ReplicatedAgent:
    """As an `AgentRuntime`, of which the engine asks nothing."""

    in_workers = True
    may_move = False
    asked = False
    load_s = 0.0
    given_up: str | None = None

    def __init__(self, name: str, replicas: Replicas):
        self.name, self.replicas = name, replicas
        self.lanes: Mapping[str, Lane] = {}
        self.first_stage = ""
        self.stats: dict[str, LaneStats] = {}

    def wait(self, waiting: Callable[[], None]) -> None:
        """Until a replica can be asked; `waiting` is called meanwhile."""
        self.replicas.wait(waiting)
        self.first_stage = next(iter(self.replicas.pad_to))
        self.stats = {stage: LaneStats() for stage in self.replicas.pad_to}

    def is_asked_in(self, worker: Worker) -> bool:
        return True

    def consult(self, worker: Worker) -> Consult:
        """Tells a worker where to ask."""
        return self.replicas.consult(worker)

    def news(self) -> list[Asked]:
        """What was asked since the last call."""
        return [Asked(self.name, stage, stats, steps) for stage, stats, steps in self.replicas.told()]

    def drop(self, owner: Any) -> None:
        """The engine holds no requests of it."""

    def dispatch(self, moment: Moment, live: dict[Any, int]) -> float | None:
        return None

    def overdue(self, now: float, limit_s: float | None) -> list[Answers]:
        return []

    def close(self, limits: LimitsCfg) -> str | None:
        self.replicas.close()
        for event in self.news():
            self.stats[event.stage].add(event.stats)
        return None
