"""The replicas of one agent, as the engine sees them: started by Ray where there is room, looked at twice a second, and
started again when they are lost.

A replica is asked by workers directly; what passes here is where replicas are, what they have done, and whether they
live.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from proctor import __version__
from proctor.config.models import AgentCfg
from proctor.errors import InputError, RunError
from proctor.policies import loader_for
from proctor.rollout.backends.base import Need, Replicas, Worker
from proctor.rollout.cluster.actors import Home, Opened, Request
from proctor.rollout.cluster.joining import unprepared
from proctor.rollout.cluster.replica import Told
from proctor_host.messages import Consult

LOOK_S = 0.5
CLOSE_S = 5.0
MOST_FAILURES = 5
"""Replicas in a row that are lost without an answer in between, on nodes that live; then the run ends."""

log = logging.getLogger("proctor")


@dataclass
class _One:
    """A replica that starts or runs. `asked`: what its actor has been asked and has not answered yet."""

    actor: Any
    asked: Any
    opened: Opened | None = None


class RayReplicas(Replicas):
    """`kind` is the class of their actors. They start when this is made."""

    def __init__(self, ray: Any, home: Home, kind: Any, agent: AgentCfg, need: Need, count: int):
        self._ray, self._home, self._kind, self.agent = ray, home, kind, agent.name
        tasks = tuple(task.inside for task in need.tasks.values())
        self._request = Request(need.cfg, agent, tasks, need.slots, need.threads)
        self.row_by_row = loader_for(agent.policy).row_by_row
        self._failures = 0
        self._changed = self.closed = False
        self._looked = 0.0
        self._news: list[tuple[str, Any, int]] = []
        self._busy: dict[str, list[float]] = {}
        self._first: WeakKeyDictionary[Worker, str] = WeakKeyDictionary()
        """The place that each worker was told to ask."""
        self.given_up: str | None = None
        self._ones = [self._start() for _ in range(count)]
        self._known: dict[str, Mapping[str, Any]] = {}

    def wait(self, waiting: Callable[[], None]) -> None:
        while not self._open:
            waiting()
            self._ray.wait([one.asked for one in self._ones], timeout=0.1)
            self._look()
        first = self._open[0].opened
        assert first is not None
        self.pad_to = first.stages

    @property
    def _open(self) -> list[_One]:
        return [one for one in self._ones if one.opened is not None]

    def _start(self) -> _One:
        actor = self._kind.remote()
        return _One(actor, actor.open.remote(self._home, self._request))

    def look(self) -> bool:
        now = time.monotonic()
        if now - self._looked >= LOOK_S:
            self._looked = now
            self._look()
        changed, self._changed = self._changed, False
        return changed

    def _look(self) -> None:
        """Take in what actors have answered, and ask them again."""
        for one in list(self._ones):
            if one.asked is None:
                one.asked = one.actor.told.remote()
                continue
            if not self._ray.wait([one.asked], timeout=0)[0]:
                continue
            try:
                answer = self._ray.get(one.asked)
            except self._ray.exceptions.RuntimeEnvSetupError as problem:
                self._unable(one, unprepared(problem))
                continue
            except self._ray.exceptions.RayError as problem:
                self._lose(one, problem)
                continue
            one.asked = None
            if one.opened is None:
                self._opened(one, answer)
            else:
                self._heard(answer, one.opened)

    def _opened(self, one: _One, opened: Opened) -> None:
        if opened.problem is not None:
            self._unable(one, opened.problem)
            return
        if (found := opened.node["proctor"]) != __version__:
            raise InputError(f"{opened.node['address']} has proctor {found}, this is {__version__}: install the same")
        one.opened, self._changed = opened, True
        self._known[opened.address] = opened.node
        log.info("agent %s has a replica on %s", self.agent, opened.node["address"])

    def _unable(self, one: _One, problem: str) -> None:
        """A replica cannot start where Ray has placed it, and another try would not mend that."""
        if not self._open:
            raise InputError(problem)
        log.warning("a replica of agent %s did not start: %s", self.agent, problem)
        self._ray.kill(one.actor)
        self._ones.remove(one)

    def _heard(self, told: Told, opened: Opened) -> None:
        rows = 0
        for stage, stats in told.stats.items():
            rows += stats.rows
            if stats.rows or told.steps:
                self._news.append((stage, stats, told.steps))
                told.steps = 0
        busy = self._busy.setdefault(opened.address, [0.0, 0.0])
        busy[0] += sum(stats.seconds for stats in told.stats.values())
        busy[1] += told.seconds
        if rows:
            self._failures = 0
        if told.given_up is not None:
            self.given_up = told.given_up

    def _lose(self, lost: _One, problem: Exception) -> None:
        node_died = isinstance(problem, self._ray.exceptions.NodeDiedError)
        self._failures += not node_died
        where = "that was starting" if lost.opened is None else f"on {lost.opened.node['address']}"
        why = str(problem).strip().splitlines()[0]
        log.warning("a replica of agent %s %s was lost: %s", self.agent, where, why)
        if self._failures >= MOST_FAILURES:
            raise RunError(f'replicas of agent "{self.agent}" keep dying before they answer ({why})')
        self._changed = True
        self._ray.kill(lost.actor)
        self._ones[self._ones.index(lost)] = self._start()

    def consult(self, worker: Worker) -> Consult:
        """On its own node before others, then where the fewest other workers ask, then where it asks already."""
        asked = Counter(place for other, place in self._first.items() if other is not worker)
        mine, before = worker.node.get("node"), self._first.get(worker)
        places = [one.opened for one in self._open if one.opened is not None]
        places.sort(key=lambda at: (at.node["node"] != mine, asked[at.address], at.address != before))
        if places:
            self._first[worker] = places[0].address
        return Consult(self.agent, [opened.address for opened in places], self._home.token)

    def told(self) -> list[tuple[str, Any, int]]:
        news, self._news = self._news, []
        return news

    def busy(self) -> dict[str, float]:
        """The share of their time that replicas spent in forwards, by place."""
        return {place: round(used / whole, 4) for place, (used, whole) in self._busy.items() if whole}

    def node_of(self, place: str) -> Mapping[str, Any]:
        return self._known.get(place, {})

    def close(self) -> None:
        self.closed = True
        asked = [one.actor.told.remote() for one in self._open]
        if asked and self._ray.is_initialized():
            for one, answer in zip(self._open, asked, strict=True):
                try:
                    told = self._ray.get(answer, timeout=CLOSE_S)
                    assert one.opened is not None
                    self._heard(told, one.opened)
                    self._ray.get(one.actor.close.remote(), timeout=CLOSE_S)
                except self._ray.exceptions.RayError:
                    continue
        for one in self._ones:
            self._ray.kill(one.actor)
