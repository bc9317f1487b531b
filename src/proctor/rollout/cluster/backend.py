"""Workers on a cluster: `workers: {kind: ray, count: 64, options: {address: auto}}`.

Each worker is an actor that Ray places where there is room; one that has none waits for it, and takes trials from the
moment that it has. So a run grows with its cluster, up to `count` workers, and shrinks with it. A worker that is lost
is hired again. Between the engine and a worker everything is as with a host behind an address, but that the host
trusts the engine whose actor it is.
"""

from __future__ import annotations

import secrets
import threading
from pathlib import Path
from typing import Annotated, Any, ClassVar
from weakref import WeakSet

from pydantic import AfterValidator, Field

from proctor.config.models import AgentCfg, RuntimeCfg
from proctor.interpreters import at_hand
from proctor.policies import loader_for, options_for
from proctor.rollout.backends.base import Backend, BackendOptions, Need, Replicas, Worker
from proctor.rollout.cluster.actors import Home, ReplicaHome, WorkerHome
from proctor.rollout.cluster.joining import actors, connect, leave
from proctor.rollout.cluster.replicas import RayReplicas
from proctor.rollout.cluster.room import Asked, Room
from proctor.rollout.cluster.workers import Actors, RayWorker
from proctor.texts import count as counted
from proctor_host.cfg import WorkerCfg

PROBE = ".cluster"
"""The file in a run's folder by which a node is known to share it."""


def _whole_or_part(gpus: float) -> float:
    if gpus > 1.0 and gpus != int(gpus):
        raise ValueError("expected a part of one GPU (0.5), or whole ones (2)")
    return gpus


Gpus = Annotated[float, Field(ge=0.0), AfterValidator(_whole_or_part)]
"""Of an actor, as Ray counts them."""


class RayOptions(BackendOptions):
    """What a cluster is asked for."""

    address: str = "auto"
    """Of the cluster: `auto` finds the one that this machine belongs to, `local` starts one of this machine alone,
    `HOST:PORT` names one to which this machine belongs."""
    cpus: float = Field(default=1.0, ge=0.0)
    """CPUs of a worker."""
    gpus: Gpus = 0.0
    """GPUs of a worker, or a part of one, for simulators that render on it."""
    replicas: int = Field(default=1, ge=0, le=1000)
    """Replicas of each agent that is not asked in the workers; 0: the engine loads and asks it."""
    replica_cpus: float = Field(default=0.0, ge=0.0)
    replica_gpus: Gpus | None = None
    """Of a replica; None: 1 where the agent's device is a GPU."""
    runtime_env: dict[str, Any] | None = None
    """What Ray prepares on a node before an actor starts there (`pip`, `working_dir`, `env_vars`, ...)."""
    wait_for_nodes: bool = False
    """Whether the run waits where no node could hold a worker or a replica; otherwise that is an error."""


class RayBackend(Backend):
    """Workers as actors of a Ray cluster, and replicas of policies beside them."""

    name: ClassVar[str] = "ray"
    Options: ClassVar[type[BackendOptions]] = RayOptions
    runtimes: ClassVar[bool] = True

    def __init__(self, cfg: WorkerCfg, options: RayOptions, runtime: RuntimeCfg | None = None, places: int = 1):
        super().__init__(cfg, options, runtime, places)
        self.options: RayOptions
        self._home: Home | None = None
        self._workers = 0
        self._hired: WeakSet[RayWorker] = WeakSet()
        self._began = threading.Event()
        self._replicas: list[tuple[RayReplicas, Asked]] = []

    def shares(self, slots: int, count: int | None) -> list[int]:
        """As many workers as the config asks for, or as the cluster has room for now."""
        whole = self._asked(1)
        if not self.options.wait_for_nodes:
            Room(self._connected()).require("a worker", whole, "workers.options: cpus, gpus")
        if count is None and any(whole.values()):
            count = max(Room(self._connected()).take(whole, slots), 1)
        shares = super().shares(slots, count)
        self._workers = len(shares)
        return shares

    def hire(self, slots: int) -> Worker:
        ray = self._connected()
        kind = actors(ray, WorkerHome, self._asked(self.places), self.options.runtime_env)
        worker = RayWorker(self.cfg, slots, Actors(ray, self.home, kind, self._began), self.runtime is None)
        self._hired.add(worker)
        return worker

    def _connected(self) -> Any:
        return connect(self.options.address, self.options.runtime_env)

    @property
    def home(self) -> Home:
        """What actors are told of the run."""
        if self._home is None:
            assert self.cfg.folder is not None
            self._home = home_of(Path(self.cfg.folder), self.cfg, self.runtime)
        return self._home

    def _asked(self, places: int) -> Asked:
        """Of a worker, where workers of so many places share what the config says of one."""
        cpus, gpus = self.options.cpus / places, self.options.gpus / places
        return {"num_cpus": round(cpus, 4), "num_gpus": round(gpus, 4) if gpus < 1 else gpus // 1}

    def replicates(self, agent: AgentCfg) -> bool:
        loader = loader_for(agent.policy)
        free = options_for(agent).placement == "auto" and not (loader.here_only or loader.in_workers)
        return free and self.options.replicas > 0

    def replicate(self, agent: AgentCfg, need: Need) -> Replicas:
        options = self.options
        gpus = options.replica_gpus
        if gpus is None:
            gpus = 0.0 if agent.device == "cpu" else 1.0
        asked = {"num_cpus": options.replica_cpus, "num_gpus": gpus}
        ray = self._connected()
        if not options.wait_for_nodes:
            self._require_room_for(agent, asked, ray)
        kind = actors(ray, ReplicaHome, {**asked, "max_concurrency": 2}, options.runtime_env)
        replicas = RayReplicas(ray, self.home, kind, agent, need, options.replicas)
        self._replicas = [*self._living, (replicas, asked)]
        return replicas

    @property
    def _living(self) -> list[tuple[RayReplicas, Asked]]:
        return [(replicas, asked) for replicas, asked in self._replicas if not replicas.closed]

    def _require_room_for(self, agent: AgentCfg, asked: Asked, ray: Any) -> None:
        """Raise InputError where a replica finds no room beside what the run has started before it."""
        room, others = Room(ray), [counted(self._workers, "worker")]
        for _ in range(self.places):
            room.take(self._asked(self.places), self._workers)
        for replicas, theirs in self._living:
            placed = room.take(theirs, self.options.replicas)
            others.append(f"{counted(placed, 'replica')} of agent {replicas.agent}")
        room.require(f"a replica of agent {agent.name}", asked, "workers.options: replica_cpus, replica_gpus", others)

    def close(self) -> None:
        for worker in self._hired:
            worker.gone()
        if self._home is not None:
            (Path(self._home.folder) / PROBE).unlink(missing_ok=True)
        if self.options.runtime_env is not None:
            leave()


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
