"""The workers of a run: where they live, how many, which slots they have, and replacing those that are lost.

Tasks that name no runtime have the workers that the config asks for. Those of a runtime have workers there, as many
again: who has nothing to do costs nothing, and the engine runs no more trials at once than the config says."""

from __future__ import annotations

import itertools
import select
import textwrap
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from proctor import suites
from proctor.config.models import AgentCfg, EvalConfig, TaskCfg
from proctor.errors import RunError
from proctor.registry import BACKENDS
from proctor.rollout.backends.base import Backend, Lost, Need, Replicas
from proctor.rollout.backends.host import HostBackend
from proctor.rollout.pace import Pace
from proctor.rollout.slots import Parted, Slot
from proctor.runtimes import RuntimeCfg, needed_for
from proctor_host.cfg import WorkerCfg
from proctor_host.kit import full_name
from proctor_host.messages import Asks, Close, Event

FINISHING_S = 0.002
"""How long is waited at most while a trial is being finished beside the engine's loop."""
MAX_FRUITLESS_DEATHS, MAX_FRUITLESS_HANGS, MAX_FRUITLESS_EXCUSES = 5, 2, 100


class Member:
    """A worker and its slots."""

    def __init__(self, backend: Backend, slots: int):
        self._backend = backend
        self.worker = backend.hire(slots)
        self.rested = False
        """Whether it has been told that no more trials come for now."""
        self.slots = [Slot(self, i) for i in range(slots)]
        self.live = 0
        """Slots that hold a trial."""
        self.running = 0
        """Of these, the slots that the worker can step."""
        self.parted: dict[str, Parted] = {}
        """Trials that have ended, whose slots may have others, and whose records are still being written, by key."""
        self._pace = Pace()
        self.exclusive: str | None = None
        """The task whose batch environment has the whole worker."""
        self.fd: int | None = None
        self.deaths = self.excused = 0
        """Lost since it last finished a trial: by itself, and with its machine."""
        self._was_ready = False

    @property
    def ready(self) -> bool:
        """Whether it can be given trials."""
        return self.worker.ready

    def arrives(self) -> bool:
        """Whether it has become ready since the last call."""
        before, self._was_ready = self._was_ready, self.ready
        return self._was_ready and not before

    def fruitful(self) -> None:
        """It has finished a trial."""
        self.deaths = self.excused = 0

    @property
    def idle(self) -> bool:
        return self.live == 0

    @property
    def tasks(self) -> Collection[str]:
        """The tasks whose environments can be made there."""
        return self._backend.cfg.tasks

    def rehire(self) -> None:
        """A fresh worker in the place of a lost one."""
        self.worker = self._backend.hire(self.worker.slots)
        self.exclusive, self.rested, self._was_ready = None, False, False

    def spare_s(self, now: float) -> float:
        """About how long until the worker has nothing to step."""
        return self._pace.spare_s(self.running, now)

    def heard(self, events: list[Event], now: float) -> None:
        """These events have come."""
        self._pace.heard(sum(len(event.slots) if type(event) is Asks else 1 for event in events), now)


class Crew:
    """Start it, wait on it, replace the lost, close it."""

    def __init__(self, cfg: EvalConfig, worker: WorkerCfg):
        backends = list(_backends(cfg, worker))
        self._here = None
        self._poll = select.poll()
        self._readable: set[int] = set()
        self.members: list[Member] = []
        self._backends = backends
        self.places = len(backends)
        """How many kinds of workers there are."""
        try:
            for backend in backends:
                shares = backend.shares(cfg.num_parallel, cfg.workers.count or devices_of(cfg, backend.cfg.tasks))
                hired = [Member(backend, slots) for slots in shares]
                self.members += hired
                self._here = hired[0] if backend.in_this_process else self._here
        except BaseException:
            for member in self.members:
                member.worker.kill()
            for backend in backends:
                backend.close()
            raise
        for member in self.members:
            self._register(member)

    @property
    def inline(self) -> bool:
        """Whether environments are stepped in this process."""
        return self._here is not None

    @property
    def apart(self) -> bool:
        """Whether there are workers elsewhere."""
        return any([member.fd is not None for member in self.members])

    def spread(self, tasks: Iterable[str]) -> dict[str, Member]:
        """Somebody for each task who can make its environment, in turn; nobody for tasks all of whose workers still
        wait for a place to live."""
        groups = {place: [m for m in group if m.ready] for place, group in self._by_place().items()}
        turns = {place: itertools.cycle(group) for place, group in groups.items() if group}
        found = {task: next((turn for place, turn in turns.items() if task in place), None) for task in tasks}
        return {task: next(turn) for task, turn in found.items() if turn is not None}

    def arrived(self) -> list[Member]:
        """Who has become ready since the last call."""
        return [member for member in self.members if member.arrives()]

    def replicates(self, agent: AgentCfg) -> bool:
        """Whether `replicate` finds a place for this agent."""
        return any(backend.replicates(agent) for backend in self._backends)

    def replicate(self, agent: AgentCfg, need: Need) -> Replicas | None:
        """Where the policy of an agent lives that workers ask directly; None: the engine loads and asks it."""
        backend = next((backend for backend in self._backends if backend.replicates(agent)), None)
        return None if backend is None else backend.replicate(agent, need)

    def _by_place(self) -> dict[tuple[str, ...], list[Member]]:
        found: dict[tuple[str, ...], list[Member]] = {}
        for member in self.members:
            found.setdefault(tuple(member.tasks), []).append(member)
        return found

    def _register(self, member: Member) -> None:
        fd = member.worker.fileno()
        if fd is not None:
            self._poll.register(fd, select.POLLIN)
            member.fd = fd

    def watch(self, fd: int) -> None:
        """Also wake up when this file is readable."""
        self._poll.register(fd, select.POLLIN)

    def slots(self) -> Iterator[Slot]:
        for member in self.members:
            yield from member.slots

    def flush(self) -> None:
        for member in self.members:
            member.worker.flush()

    def work(self, seconds: float) -> None:
        """Step environments that live in this process."""
        if self._here is not None:
            self._here.worker.work(seconds)

    @property
    def busy(self) -> bool:
        """Whether `work` has something to do."""
        return self._here is not None and self._here.worker.busy

    def wait(self, seconds: float) -> None:
        """Until something happens, at most so long."""
        if any([member.worker.finishing for member in self.members]):
            seconds = min(seconds, FINISHING_S)
        self._readable = {fd for fd, _ in self._poll.poll(max(1000.0 * seconds, 0.0))}

    def events(self) -> Iterator[tuple[Member, list[Event]]]:
        """What each worker had said by the end of the last `wait`, and which of its trials have been finished here
        since; workers of which there is nothing to say are left out."""
        for member in self.members:
            if member.fd is None:
                self._register(member)  # one that is still being called for has nothing to wait on
            if member.fd is None or member.fd in self._readable or member.worker.finishing:
                events = member.worker.events()
                if events:
                    yield member, events

    def spare_s(self, now: float) -> float:
        """About how long until the first worker that has trials has nothing to step."""
        return min((member.spare_s(now) for member in self.members if member.live), default=0.0)

    def replace(self, member: Member, lost: Lost) -> None:
        """A fresh worker in the place of a lost one. Its slots must be free."""
        member.deaths += not lost.excused
        member.excused += lost.excused
        self._unregister(member)
        most = MAX_FRUITLESS_HANGS if lost.hung else MAX_FRUITLESS_DEATHS
        fruitless = member.deaths >= most or member.excused >= MAX_FRUITLESS_EXCUSES
        if fruitless and lost.slot is None:
            times = member.deaths + member.excused
            raise RunError(
                f"worker processes keep dying before they finish a trial ({lost.reason}, {times} times); "
                f"`proctor check` with `workers: inline` shows what goes wrong{printed(lost)}"
            )
        member.rehire()
        self._register(member)

    def _unregister(self, member: Member) -> None:
        if member.fd is not None:
            self._poll.unregister(member.fd)
            member.fd = None

    def close(self) -> list[tuple[Member, Event]]:
        """End everyone; the last events of each."""
        for member in self.members:
            member.worker.send(Close())
            member.worker.flush()
        events = [(member, event) for member in self.members for event in member.worker.drain()]
        for backend in self._backends:
            backend.close()
        return events


def devices_of(cfg: EvalConfig, tasks: Iterable[str]) -> int | None:
    """How many devices step the worlds of these tasks; None where the processor steps some of them."""
    found = [suites.accelerator(cfg.task(name)) for name in tasks]
    return None if None in found else len({full_name(device) for device in found if device is not None})


def by_place(tasks: Iterable[TaskCfg]) -> dict[RuntimeCfg | None, list[str]]:
    """The names of tasks by the runtime that they run in, this interpreter's under None."""
    found: dict[RuntimeCfg | None, list[str]] = {}
    for task in tasks:
        found.setdefault(needed_for(task, suites.suite_for(task)), []).append(task.name)
    return found


def _backends(cfg: EvalConfig, worker: WorkerCfg) -> Iterator[Backend]:
    """One for the tasks that are to be run as the config says, one for each runtime that others name."""
    kind = BACKENDS.find("process" if cfg.workers.kind == "auto" else cfg.workers.kind)
    places = by_place(cfg.tasks)
    for runtime, names in places.items():
        theirs = replace(worker, tasks={name: worker.tasks[name] for name in names})
        if runtime is not None and (runtime.address is not None or not kind.runtimes):
            yield HostBackend.of(runtime, theirs)
        else:
            options = kind.Options.model_validate(cfg.workers.options)
            yield kind(theirs, options, runtime, len(places)) if kind.runtimes else kind(theirs, options)


def printed(lost: Lost) -> str:
    """The end of an error's text, with what workers printed last."""
    return f"\nThe last lines of workers.log:\n{textwrap.indent(lost.said, '  ')}" if lost.said else ""
