"""Workers on a cluster: `workers: {kind: ray, count: 64, options: {address: auto}}`.

Each worker is an actor that Ray places where there is room; one that has none waits for it, and takes trials from the
moment that it has. So a run grows with its cluster, up to `count` workers, and shrinks with it. A worker that is lost
is hired again. Between the engine and a worker everything is as with a host behind an address, but that the host
trusts the engine whose actor it is.
"""

from __future__ import annotations

import logging
import secrets
import socket
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field

from proctor import __version__
from proctor.config.models import AgentCfg, RuntimeCfg
from proctor.errors import InputError, RunError, optional
from proctor.interpreters import at_hand
from proctor.policies import loader_for, options_for
from proctor.rollout.backends.address import AddressWorker, Connection, connected
from proctor.rollout.backends.base import Backend, BackendOptions, Lost, Need, Replicas, Worker
from proctor.rollout.cluster.actors import Home, Opened, WorkerHome
from proctor.rollout.cluster.replicas import RayReplicas
from proctor_host.cfg import WorkerCfg
from proctor_host.handshake import Lapse, Refusal, split_address

KNOCK_S = 10.0
LOOK_S = 0.1
MOST_FAILURES = 5
"""Actors in a row that die before they have opened, on nodes that live; then the run ends."""
PROBE = ".cluster"
"""The file in a run's folder by which a node is known to share it."""

log = logging.getLogger("proctor")


class RayOptions(BackendOptions):
    """What a cluster is asked for."""

    address: str = "auto"
    """Of the cluster: `auto` finds the one that this machine belongs to, `local` starts one of this machine alone,
    `HOST:PORT` names one to which this machine belongs."""
    cpus: float = Field(default=1.0, ge=0.0)
    """CPUs of a worker."""
    gpus: float = Field(default=0.0, ge=0.0)
    """GPUs of a worker, or a part of one, for simulators that render on it."""
    replicas: int = Field(default=1, ge=0, le=1000)
    """Replicas of each agent that is not asked in the workers; 0: the engine loads and asks it."""
    replica_cpus: float = Field(default=0.0, ge=0.0)
    replica_gpus: float | None = Field(default=None, ge=0.0)
    """Of a replica; None: 1 where the agent's device is a GPU."""
    runtime_env: dict[str, Any] | None = None
    """What Ray prepares on a node before an actor starts there (`pip`, `working_dir`, `env_vars`, ...)."""


def connect(address: str) -> Any:
    """Ray, connected to a cluster. Raises InputError where there is none."""
    ray = optional("ray", "workers: {kind: ray}", "ray")
    if address.startswith("ray://"):
        raise InputError(
            f'found the address "{address}" of a Ray client, through which workers cannot be reached; start the run on '
            "a node of the cluster, with the address auto or HOST:PORT"
        )
    if not ray.is_initialized():
        told = {"address": address, **({"include_dashboard": False} if address == "local" else {})}
        try:
            _knock(address)
            ray.init(**told, log_to_driver=False, logging_level=logging.WARNING)
        except (ConnectionError, RuntimeError, ValueError, OSError) as problem:
            raise InputError(
                f'there is no Ray cluster at "{address}" ({str(problem).splitlines()[0]}); start one with `ray start '
                "--head` on this machine and `ray start --address HOST:6379` on the others, or use address: local"
            ) from problem
    return ray


def _knock(address: str) -> None:
    """Raise OSError where nobody listens at an address: Ray itself would try for long, and then end the process."""
    if address not in ("auto", "local"):
        with socket.create_connection(split_address(address), timeout=KNOCK_S):
            pass


class RayBackend(Backend):
    """Workers as actors of a Ray cluster, and replicas of policies beside them."""

    name: ClassVar[str] = "ray"
    Options: ClassVar[type[BackendOptions]] = RayOptions
    runtimes: ClassVar[bool] = True

    def __init__(self, cfg: WorkerCfg, options: RayOptions, runtime: RuntimeCfg | None = None, places: int = 1):
        super().__init__(cfg, options, runtime, places)
        self.options: RayOptions
        self._ray: Any = None
        self._home: Home | None = None

    def shares(self, slots: int, count: int | None) -> list[int]:
        """As many workers as the config asks for, or as the cluster has CPUs for now."""
        if count is None:
            room = connect(self.options.address).cluster_resources().get("CPU", 1.0)
            count = max(int(room / self.options.cpus), 1) if self.options.cpus else None
        return super().shares(slots, count)

    def hire(self, slots: int) -> Worker:
        actors = Actors(connect(self.options.address), self.home, self._remote(WorkerHome))
        return RayWorker(self.cfg, slots, actors, self.runtime is None)

    @property
    def home(self) -> Home:
        """What actors are told of the run."""
        if self._home is None:
            assert self.cfg.folder is not None
            self._home = home_of(Path(self.cfg.folder), self.cfg, self.runtime)
        return self._home

    def _remote(self, kind: type) -> Any:
        ray, options = connect(self.options.address), self.options
        asked = {"num_cpus": options.cpus / self.places, "num_gpus": options.gpus / self.places}
        return ray.remote(kind).options(**asked, **_everywhere(options))

    def replicates(self, agent: AgentCfg) -> bool:
        loader = loader_for(agent.policy)
        free = options_for(agent).placement == "auto" and not (loader.here_only or loader.in_workers)
        return free and self.options.replicas > 0

    def replicate(self, agent: AgentCfg, need: Need) -> Replicas:
        options = self.options
        gpus = options.replica_gpus
        if gpus is None:
            gpus = 0.0 if agent.device == "cpu" else 1.0
        asked = {"num_cpus": options.replica_cpus, "num_gpus": gpus, **_everywhere(options)}
        return RayReplicas(connect(options.address), self.home, asked, agent, need, options.replicas)

    def close(self) -> None:
        if self._home is not None:
            (Path(self._home.folder) / PROBE).unlink(missing_ok=True)


def _everywhere(options: RayOptions) -> dict[str, Any]:
    told = {} if options.runtime_env is None else {"runtime_env": options.runtime_env}
    return {"scheduling_strategy": "SPREAD", "max_restarts": 0, **told}


def home_of(folder: Path, cfg: WorkerCfg, runtime: RuntimeCfg | None) -> Home:
    """What actors are told of a run in this folder."""
    named = {name: task.suite for name, task in cfg.tasks.items()}
    return Home(str(folder.resolve()), probe_in(folder), _TOKEN, tuple(at_hand()), runtime, named)


def probe_in(folder: Path) -> tuple[str, str]:
    """The name and the text of a file by which nodes know the folder, which is written if there is none."""
    probe = folder / PROBE
    if not probe.is_file():
        probe.write_text(secrets.token_hex(16))
    return PROBE, probe.read_text()


_TOKEN = secrets.token_hex(32).encode()
"""Of this process: what its actors and their callers know."""


class Actors:
    """Gets actors for one worker, one after the other, and connects to them (the `Place` of an `AddressWorker`)."""

    def __init__(self, ray: Any, home: Home, kind: Any):
        self._ray, self._home, self._kind = ray, home, kind
        self.address = "a node"
        self.opened: Opened | None = None
        self.actor: Any = None

    def __str__(self) -> str:
        if self.opened is None:
            return "the cluster"
        return f"node {self.opened.node['address']} ({self.opened.node['node'][:8]})"

    def call(self, seconds: float, cancelled: threading.Event | None = None) -> Connection:
        """Wait until Ray has room for an actor, however long that takes, and connect to it. Raises InputError where the
        node cannot do the run's work, RunError where actors keep dying."""
        failures = 0
        while True:
            self.actor = self._kind.remote()
            try:
                return self._connected(cancelled or threading.Event())
            except (self._ray.exceptions.RayError, OSError, Lapse, Refusal) as problem:
                failures += not isinstance(problem, self._ray.exceptions.NodeDiedError)
                log.warning("a worker on the cluster did not start: %s", str(problem).splitlines()[0])
                self.end()
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
            self.end()
            raise InputError(opened.problem)
        if (found := opened.node["proctor"]) != __version__:
            self.end()
            raise InputError(f"{opened.node['address']} has proctor {found}, this is {__version__}: install the same")
        self.opened = opened
        return connected(split_address(opened.address), self._home.token)

    def end(self) -> None:
        """End the actor, and what it has started."""
        actor, self.actor = self.actor, None
        if actor is not None and self._ray.is_initialized():
            self._ray.kill(actor)


class RayWorker(AddressWorker):
    """The engine's end of a worker on some node."""

    def __init__(self, cfg: WorkerCfg, slots: int, actors: Actors, has_policies: bool):
        self.has_policies = has_policies
        self._actors = actors
        super().__init__(cfg, slots, actors, None)
        self.called = "a worker on the cluster"

    @property
    def ready(self) -> bool:  # type: ignore[override]
        return self._connected and bool(self.greeting) and not self._closed

    @property
    def node(self) -> Mapping[str, Any]:  # type: ignore[override]
        return {} if self._actors.opened is None else self._actors.opened.node

    def _begin(self, connection: Connection) -> None:
        self.called = f"a worker on {self._actors}"
        super()._begin(connection)

    def _ending(self, during: str, slot: int | None, acting: bool) -> Lost:
        if self._ended is None:
            return Lost(f"{self.called} was lost with its actor or node", None, False, excused=True)
        return super()._ending(during, slot, acting)

    def kill(self) -> None:
        super().kill()
        self._actors.end()
