"""What a worker backend is: the part that says where workers live.

A `Backend` is a registered part (group `proctor.backends`); a config names it as `workers: {kind: NAME, ...}`. It hires
`Worker` objects, which are all that the engine sees: they take commands and give events, wherever they run. What is
inside a worker (`proctor_host`) is the same everywhere.
"""

from __future__ import annotations

import abc
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from pydantic import BaseModel, ConfigDict

from proctor.config.models import AgentCfg, EvalConfig, RuntimeCfg
from proctor.rollout.ask.runner import PolicyRunner
from proctor.rollout.tasks import Task
from proctor_host.cfg import WorkerCfg
from proctor_host.messages import Command, Consult, Event, Load, Run


@dataclass(frozen=True)
class Lost:
    """A worker is gone. `slot` is the one whose environment code was running; None if none was, -1 for all. `acting`:
    the code of a policy that lives there, not of an environment. `said`: the last lines that workers have printed."""

    reason: str
    slot: int | None
    hung: bool
    acting: bool = False
    said: str = ""
    excused: bool = False
    """It was lost with its machine, or taken away, and says nothing of what ran there."""


class Worker(abc.ABC):
    """Takes commands, gives events. `flush` sends what has been gathered; `events` never blocks."""

    slots: int
    greeting: Mapping[str, Any] = MappingProxyType({})
    """What the worker has said of its interpreter, if it lives in another process and has started."""

    @abc.abstractmethod
    def send(self, command: Command) -> None:
        """Have the worker do something."""

    def run(self, slots: Sequence[int], chunks: np.ndarray) -> None:
        """Send `Run`, which is sent most: a chunk `(slots, horizon, *action)` of valid actions for each slot."""
        self.send(Run(list(slots), chunks))

    def adopt(self, agent: AgentCfg, runner: PolicyRunner) -> None:
        """Have this agent's policy where the environments are: loaded again there, unless the worker can share
        `runner`, which is the engine's."""
        self.send(Load(agent))

    @abc.abstractmethod
    def columns(self, task: Task) -> Sequence[Any]:
        """The observations of the worker's slots, where the task's layout allows for columns: a row per slot."""

    @abc.abstractmethod
    def flush(self) -> None:
        """Send what has been gathered."""

    @abc.abstractmethod
    def events(self) -> list[Event]:
        """What the worker has said since the last call."""

    @abc.abstractmethod
    def lost(self) -> Lost | None:
        """Whether the worker has died or hangs (then it has been killed)."""

    @abc.abstractmethod
    def drain(self) -> list[Event]:
        """After Close was sent: end it; the last events."""

    @abc.abstractmethod
    def kill(self) -> None:
        """End it, and whatever it has started, at once."""

    ready: bool = True
    """Whether it can be given trials. One that waits for a place to live is not ready, and may be later."""
    node: Mapping[str, Any] = MappingProxyType({})
    """What is known of the machine that it lives on; empty where that is the engine's."""
    has_policies: bool = True
    """Whether policies can live there; if not, the engine is asked, wherever an agent's policy is placed."""

    def fileno(self) -> int | None:
        """What to wait on for events; None where `work` makes them."""
        return None

    def work(self, seconds: float) -> None:  # noqa: B027 - only for workers in this process
        """Step environments for about this long, where they live in this process."""

    def stuck(self) -> str | None:
        """For a worker in this process: what it does not come back from, although the time for that is over. Asked on
        another thread."""
        return None

    @property
    def busy(self) -> bool:
        """Whether `work` has something to do."""
        return False


@dataclass(frozen=True)
class Need:
    """What replicas of an agent are told of the run. `slots`: how many trials run at once."""

    cfg: EvalConfig
    tasks: Mapping[str, Task]
    slots: int
    threads: int


class Replicas(abc.ABC):
    """An agent's policy in several places, which workers ask directly. The engine sees where they are, what they have
    done, and whether that can go on."""

    pad_to: Mapping[str, int | None] = MappingProxyType({})
    """Rows of a forward, by stage."""
    row_by_row: bool = False
    """Whether answers cannot depend on the rows beside them."""

    @abc.abstractmethod
    def wait(self, waiting: Callable[[], None]) -> None:
        """Until one of them can be asked. `waiting` is called meanwhile, and raises where that is pointless. Raises
        InputError where the policy cannot be loaded."""

    @abc.abstractmethod
    def look(self) -> bool:
        """Replace what was lost. Whether places have changed since the last call. Raises RunError where replicas keep
        dying."""

    @abc.abstractmethod
    def consult(self, worker: Worker) -> Consult:
        """Tells a worker where to ask, the best place first. Workers are spread over places that are as good."""

    @abc.abstractmethod
    def told(self) -> list[tuple[str, Any, int]]:
        """What was done since the last call: for each stage its name, its statistics and the steps of environments that
        were given actions."""

    @abc.abstractmethod
    def node_of(self, place: str) -> Mapping[str, Any]:
        """What is known of the machine that a place is on."""

    @abc.abstractmethod
    def close(self) -> None:
        """End every replica."""


class BackendOptions(BaseModel):
    """Base of a backend's options: frozen data, unknown keys refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Backend(abc.ABC):
    """Where workers live. `cfg` is what every worker needs to know of the run, `options` what the config says under
    `workers.options`. `runtime` is the one that its workers live in, if `runtimes` says that they can; `places`, how
    many such backends the run has, which share what there is."""

    name: ClassVar[str]
    Options: ClassVar[type[BackendOptions]] = BackendOptions
    runtimes: ClassVar[bool] = False
    """Whether its workers can live in a runtime; if not, tasks that need one have processes of this machine."""
    in_this_process: ClassVar[bool] = False
    """Whether environments are stepped by the engine's own thread: then a policy that hangs cannot be left behind."""

    def __init__(self, cfg: WorkerCfg, options: Any, runtime: RuntimeCfg | None = None, places: int = 1):
        self.cfg, self.options, self.runtime, self.places = cfg, options, runtime, places

    def shares(self, slots: int, count: int | None) -> list[int]:
        """How the run's slots are spread: so many for each worker. `count`: workers that the config asks for."""
        workers = min(count or os.cpu_count() or 1, slots)
        return [slots // workers + (i < slots % workers) for i in range(workers)]

    def replicates(self, agent: AgentCfg) -> bool:
        """Whether an agent's policy lives where workers ask it directly; if not, the engine loads it."""
        return False

    def replicate(self, agent: AgentCfg, need: Need) -> Replicas:
        """Start what workers are to ask for an agent directly."""
        raise NotImplementedError

    def close(self) -> None:  # noqa: B027 - only for backends that hold something
        """Let go of whatever the backend holds beside its workers."""

    @abc.abstractmethod
    def hire(self, slots: int) -> Worker:
        """A new worker with so many slots. It may still be starting when this returns."""
