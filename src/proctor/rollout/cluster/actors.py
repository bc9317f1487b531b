"""What lives on a node: one actor for each worker, one for each replica. Their methods are called by the engine, once
or seldom; workers, replicas and the engine then speak through sockets.

An actor belongs to the run that has made it, so a worker here is told all that a worker process of the engine's own
machine is told: which files to import, which metrics to compute, and, where the run's folder is shared, the folder.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import platform
import socket
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from proctor import __version__, suites
from proctor.config.models import AgentCfg, EvalConfig, RuntimeCfg
from proctor.errors import InputError
from proctor.interpreters import search_last
from proctor.policies import loader_for, options_for
from proctor.rollout.backends.host import interpreter_of
from proctor.rollout.backends.process import environment_of, here
from proctor.rollout.cluster.replica import Replica, ReplicaCfg, Told
from proctor.rollout.nodes import devices
from proctor.rollout.startup import Loading
from proctor.rollout.tasks import Task
from proctor.runtimes import locate
from proctor.threads import pinned
from proctor_host.serving import Child, Server
from proctor_host.task import Task as Described

EGL_DEVICE = "MUJOCO_EGL_DEVICE_ID"


@dataclass(frozen=True)
class Home:
    """What an actor is told of the run. `folder` is the run's; `probe` the name of a file in it and what that holds, by
    which is known whether a node shares it. `paths`: where the run's own modules may lie."""

    folder: str
    probe: tuple[str, str]
    token: bytes
    paths: tuple[str, ...] = ()
    runtime: RuntimeCfg | None = None
    suites: Mapping[str, str] = field(default_factory=dict)
    """The suite of each task whose environments are made there."""


@dataclass(frozen=True)
class Opened:
    """Where an actor can be spoken to; or `problem`: why it cannot work there, which no second try would mend."""

    node: Mapping[str, Any]
    address: str = ""
    shared: bool = False
    problem: str | None = None
    stages: Mapping[str, int | None] = field(default_factory=dict)
    """Of a replica: rows of a forward, by stage."""


def describe_node() -> dict[str, Any]:
    """What the engine keeps of a node: its name in Ray, host, address, and the processors that this actor may use."""
    import ray

    context = ray.get_runtime_context()
    return {
        "node": context.get_node_id(),
        "host": socket.gethostname(),
        "address": ray.util.get_node_ip_address(),
        "devices": devices(context.get_accelerator_ids().get("GPU", ())),
        "python": platform.python_version(),
        "proctor": __version__,
    }


class _Actor:
    """What the two kinds have in common."""

    def __init__(self) -> None:
        self._node = describe_node()

    def _settle(self, home: Home) -> bool:
        """Look where the run looks for modules. Whether its folder is this node's, too."""
        logging.getLogger("proctor").setLevel(logging.INFO)
        search_last([path for path in home.paths if os.path.isdir(path)])
        name, text = home.probe
        try:
            return (Path(home.folder) / name).read_text() == text
        except OSError:
            return False

    @property
    def _called(self) -> str:
        return f"node {self._node['address']} ({self._node['host']}, {self._node['node'][:8]})"

    def ping(self) -> None:
        """Answer, as long as the actor lives."""


class WorkerHome(_Actor):
    """Has one worker at a time for whoever knows the token: the engine."""

    def open(self, home: Home) -> Opened:
        shared = self._settle(home)
        _render_on_own_gpu()
        try:
            self._check(home)
            interpreter = here() if home.runtime is None else interpreter_of(locate(home.runtime))
        except InputError as problem:
            return Opened(self._node, problem=f"{self._called}: {problem}")
        folder = home.folder if shared else None

        def hire(said: Any) -> tuple[dict[str, Any], Child]:
            told = {"extras": interpreter.extras, "root": interpreter.root, "paths": list(interpreter.paths)}
            hello = {**said, **told, "shared": False, "cfg": {**said["cfg"], "folder": folder}}
            env = environment_of(interpreter.environment)
            return hello, Child(int(said["slots"]), int(said["threads"]), interpreter.line, env)

        host = self._node["address"]
        server = Server(hire, f"[{host}]:0" if ":" in host else f"{host}:0", home.token, 1, lambda _: None)
        threading.Thread(target=server.serve, name="proctor-server", daemon=True).start()
        return Opened(self._node, server.address, folder is not None)

    def _check(self, home: Home) -> None:
        """Raise InputError where a suite of the run cannot be had here."""
        for task, suite in home.suites.items() if home.runtime is None else ():
            missing = [name for name, _ in suites.find_suite(suite).needs() if not _importable(name)]
            if missing:
                raise InputError(
                    f'the suite "{suite}" of task "{task}" needs {", ".join(missing)}, which this node does not have; '
                    "install it there, or name a runtime that is installed there (runtime: NAME)"
                )


def _render_on_own_gpu() -> None:
    """Have MuJoCo render on the GPU that Ray has given to this actor, unless something else was said: EGL counts the
    GPUs of the machine, whatever `CUDA_VISIBLE_DEVICES` says, and would take the first one in every worker."""
    import ray

    own = [str(gpu) for gpu in ray.get_runtime_context().get_accelerator_ids().get("GPU", ())]
    if own and own[0].isdecimal():
        os.environ.setdefault(EGL_DEVICE, own[0])


def _importable(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


@dataclass(frozen=True)
class Request:
    """What a replica is made of."""

    cfg: EvalConfig
    agent: AgentCfg
    tasks: tuple[Described, ...]
    slots: int
    threads: int


class ReplicaHome(_Actor):
    """Has one replica of one agent."""

    _replica: Replica

    def open(self, home: Home, request: Request) -> Opened:
        shared = self._settle(home)
        agent, host = request.agent, self._node["address"]
        tasks = {described.name: Task(described) for described in request.tasks}
        opened: list[Opened] = []
        ready = threading.Event()

        def live() -> None:
            with pinned(request.threads):
                try:
                    loading = Loading(request.cfg, tasks, Path(home.folder) if shared else None)
                    alone = loader_for(agent.policy).row_by_row
                    cfg = ReplicaCfg(
                        agent.name, options_for(agent), tasks, (host, 0), home.token, request.slots,
                        request.cfg.limits.act_s, examined=not alone,
                    )  # fmt: skip
                    self._replica = Replica(cfg, lambda: loading.load(agent.name))
                    stages = {stage.name: stage.pad_to for stage in self._replica.runtime.runner.stages}
                    opened.append(Opened(self._node, self._replica.address, shared, stages=stages))
                except InputError as problem:
                    opened.append(Opened(self._node, problem=f"{self._called}: {problem}"))
                    return
                finally:
                    ready.set()
                self._replica.serve()

        threading.Thread(target=live, name="proctor-replica", daemon=True).start()
        ready.wait()
        return opened[0] if opened else Opened(self._node, problem=f"{self._called}: the policy could not be loaded")

    def told(self) -> Told:
        """What has been done since the last call."""
        return self._replica.told()

    def close(self) -> None:
        """Let the policy close."""
        self._replica.stop()
