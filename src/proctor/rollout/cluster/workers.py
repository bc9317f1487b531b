"""The engine's end of workers on a cluster: an actor that Ray places where there is room, and the connection to it."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping
from typing import Any

from proctor import __version__
from proctor.errors import InputError, RunError
from proctor.rollout.backends.address import AddressWorker, Connection, connected
from proctor.rollout.backends.base import Lost
from proctor.rollout.cluster.actors import Home, Opened
from proctor.rollout.cluster.joining import unprepared
from proctor_host.cfg import WorkerCfg
from proctor_host.handshake import Lapse, Refusal, split_address
from proctor_host.messages import Command, Start

LOOK_S = 0.1
LEAVE_S = 2.0
AGAIN_S = 30.0
"""How long until a node is tried again that could not prepare what the run brings."""
MOST_FAILURES = 5
"""Actors in a row that die before they have opened, on nodes that live; then the run ends."""

log = logging.getLogger("proctor")


class _Unfit(Exception):
    """Its node cannot do the run's work. The text says why."""


class Actors:
    """Gets actors for one worker, one after the other, and connects to them (the `Place` of an `AddressWorker`).
    `began`: whether the run has begun its first trial."""

    def __init__(self, ray: Any, home: Home, kind: Any, began: threading.Event):
        self._ray, self._home, self._kind, self.began = ray, home, kind, began
        self.address = "a node"
        self.opened: Opened | None = None
        self.actor: Any = None
        self._unfit: list[Any] = []
        """Actors that are of no use where they are, and stay, so that Ray places the next one elsewhere."""

    def __str__(self) -> str:
        if self.opened is None:
            return "the cluster"
        return f"node {self.opened.node['address']} ({self.opened.node['node'][:8]})"

    def call(self, seconds: float, cancelled: threading.Event | None = None) -> Connection:
        """Wait until Ray has room for an actor, however long that takes, and connect to it. Nodes that cannot do the
        run's work are passed over. Raises InputError where that is found before the first trial, RunError where actors
        keep dying."""
        cancelled = cancelled or threading.Event()
        failures = 0
        while True:
            self.actor = self._kind.remote()
            try:
                return self._connected(cancelled)
            except self._ray.exceptions.RuntimeEnvSetupError as problem:
                self._pass_over(unprepared(problem))
                cancelled.wait(AGAIN_S)
            except _Unfit as problem:
                self._pass_over(str(problem))
            except (self._ray.exceptions.RayError, OSError, Lapse, Refusal) as problem:
                failures += not isinstance(problem, self._ray.exceptions.NodeDiedError)
                log.warning("a worker on the cluster did not start: %s", str(problem).splitlines()[0])
                self._drop(self.actor)
                if failures >= MOST_FAILURES:
                    raise RunError(f"workers on the cluster keep dying before they start: {problem}") from None
                time.sleep(LOOK_S)

    def _connected(self, cancelled: threading.Event) -> Connection:
        ray, asked = self._ray, self.actor.open.remote(self._home)
        while not ray.wait([asked], timeout=LOOK_S)[0]:
            if cancelled.is_set():
                self.end()
                raise RunError("nobody waits for the worker any more")
        opened: Opened = ray.get(asked)
        if opened.problem is not None:
            raise _Unfit(opened.problem)
        if (found := opened.node["proctor"]) != __version__:
            raise _Unfit(f"{opened.node['address']} has proctor {found}, this is {__version__}: install the same")
        self.opened = opened
        return connected(split_address(opened.address), self._home.token)

    def _pass_over(self, problem: str) -> None:
        """The node of the last actor is of no use."""
        if not self.began.is_set():
            self.end()
            raise InputError(problem)
        log.warning("%s; no worker of this run starts there", problem)
        self._unfit.append(self.actor)

    def _drop(self, actor: Any) -> None:
        if actor is not None and self._ray.is_initialized():
            self._ray.kill(actor)

    def end(self) -> None:
        """End the actor, and what it has started."""
        ended, self.actor, self._unfit = [self.actor, *self._unfit], None, []
        for actor in ended:
            self._drop(actor)


class RayWorker(AddressWorker):
    """The engine's end of a worker on some node."""

    def __init__(self, cfg: WorkerCfg, slots: int, actors: Actors, has_policies: bool):
        self.has_policies = has_policies
        self._actors = actors
        self._last_call: threading.Thread | None = None
        super().__init__(cfg, slots, actors, None)
        self.called = "a worker on the cluster"

    @property
    def ready(self) -> bool:  # type: ignore[override]
        return self._connected and bool(self.greeting) and not self._closed

    @property
    def node(self) -> Mapping[str, Any]:  # type: ignore[override]
        return {} if self._actors.opened is None else self._actors.opened.node

    def send(self, command: Command) -> None:
        if isinstance(command, Start):
            self._actors.began.set()
        super().send(command)

    def _begin(self, connection: Connection) -> None:
        self.called = f"a worker on {self._actors}"
        super()._begin(connection)

    def _ending(self, during: str, slot: int | None, acting: bool) -> Lost:
        if self._ended is None:
            return Lost(f"{self.called} was lost with its actor or node", None, False, excused=True)
        return super()._ending(during, slot, acting)

    def kill(self) -> None:
        self._last_call = self._calling or self._last_call
        super().kill()
        self._actors.end()

    def gone(self) -> None:
        """After `kill`: wait until nothing here speaks with Ray any more, from which this process may now part."""
        if self._last_call is not None:
            self._last_call.join(LEAVE_S)
