"""What happens before the first trial: kernels are compiled, tasks are learned of, policies are loaded.

Whatever cannot be had is found here, as an InputError, before anything has been run.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import cache, partial
from pathlib import Path

from proctor import suites
from proctor.config.models import AgentCfg, EvalConfig
from proctor.errors import BREAKS, InputError, RunError
from proctor.kernels import compile_first
from proctor.policies.protocol import AnyPolicy, SpaceInfo
from proctor.rollout.backends.base import Lost
from proctor.rollout.crew import Crew, Member, printed
from proctor.rollout.hosted import Housing, load_anywhere
from proctor.rollout.progress import CancelToken
from proctor.rollout.tasks import Task, spaces_of
from proctor_host.copies import end_if_copied, forks
from proctor_host.messages import Event, Know, Probe, Probed, ProbeFailed, SeedIgnored

WATCH_S, WORK_S = 0.05, 0.002

log = logging.getLogger("proctor")


def compile_kernels(cfg: EvalConfig, waiting: Callable[[], None]) -> None:
    """Compile what the suites need, before there are workers, which would all do it at once."""
    compile_first(dict.fromkeys(name for task in cfg.tasks for name in suites.suite_for(task).kernels), waiting)


def know(tasks: Mapping[str, Task], member: Member) -> Know:
    """Tells a worker of those tasks whose environments it makes."""
    return Know(tuple(task.inside for name, task in tasks.items() if name in member.tasks))


class Learning:
    """Has every task's environment made once, in the workers that will run it, to know what the tasks are like. A
    worker that dies meanwhile is replaced and has to make it again: `retries` times for each task."""

    def __init__(self, crew: Crew, cfg: EvalConfig):
        self._crew, self._retries = crew, cfg.limits.retries
        self._cfgs = {task.name: task for task in cfg.tasks}
        self._tasks: dict[str, Task] = {}
        self._failed: dict[str, str] = {}
        self._deaths: dict[str, list[str]] = {}
        self.attended: dict[str, Member] = {}
        """Who has the environment of a task that a person must look after: trials of it go nowhere else."""
        self._expected: dict[str, Member] = {}
        self._attends: dict[int, Member] = {}
        self._hand_out()

    def _hand_out(self) -> None:
        """Have the environments made that nobody makes yet, by workers that can."""
        open_ = self._cfgs.keys() - self._expected.keys() - self._tasks.keys() - self._failed.keys()
        for name, member in self._crew.spread(name for name in self._cfgs if name in open_).items():
            attended = self._cfgs[name].needs_reset is not None
            owner = self._attends.setdefault(id(member.tasks), member) if attended else member
            self._expected[name] = owner
            owner.worker.send(Probe(name))

    @property
    def _learned(self) -> bool:
        return len(self._tasks) + len(self._failed) >= len(self._cfgs)

    def tasks(self, cancel: CancelToken, waiting: Callable[[], None]) -> dict[str, Task]:
        """Every task, told to all workers. Raises InputError where an environment cannot be made, and RunError where
        that is because its workers die."""
        crew, expected = self._crew, self._expected
        crew.flush()
        while not (self._learned or cancel.cancelled):
            crew.work(WORK_S)
            for event in [event for _, events in crew.events() for event in events]:
                self._take(event)
            for member in crew.members:
                if lost := member.worker.lost():
                    self._lose(member, lost)
            if len(self._tasks) + len(self._failed) + len(expected) < len(self._cfgs):
                self._hand_out()
                crew.flush()
            if not (self._learned or crew.busy):
                crew.wait(WATCH_S)
            waiting()
        if self._failed:
            lines = [f'the environment of task "{task}" cannot be made: {e}' for task, e in self._failed.items()]
            raise (RunError if self._deaths.keys() & self._failed.keys() else InputError)("\n".join(lines))
        for member in crew.members:
            member.worker.send(know(self._tasks, member))
        return self._tasks

    def _take(self, event: Event) -> None:
        if isinstance(event, Probed):
            name = event.task.name
            self._tasks[name] = Task(event.task)
            owner = self._expected.pop(name)
            if event.task.is_attended:
                here = (member for member in self.attended.values() if member.tasks is owner.tasks)
                self.attended[name] = next(here, owner)
        elif isinstance(event, SeedIgnored) and event.task in self._tasks:
            self._tasks[event.task] = self._tasks[event.task].beginning_alike()
        elif isinstance(event, ProbeFailed):
            self._failed[event.task] = event.error.split("\n", 1)[0]
            del self._expected[event.task]

    def _lose(self, member: Member, lost: Lost) -> None:
        """What the worker still had to make is made by the next one; the environment that it was making when it died
        has cost one of its tries."""
        log.warning("while environments are made: %s", lost.reason)
        for event in member.worker.events():
            self._take(event)
        tasks = [task for task, owner in self._expected.items() if owner is member]
        if tasks and lost.slot is not None:
            guilty = tasks[0]
            reasons = self._deaths.setdefault(guilty, [])
            reasons.append(lost.reason)
            if lost.hung or len(reasons) > self._retries:
                times = f" ({len(reasons)} times)" if len(reasons) > 1 else ""
                self._failed[guilty] = f"{lost.reason}{times}{printed(lost)}"
                del self._expected[tasks.pop(0)]
        self._crew.replace(member, lost)
        for task in tasks:
            if member.ready:
                member.worker.send(Probe(task))
            else:
                del self._expected[task]
        member.worker.flush()


class Loading:
    """Loads policies for the tasks of a run."""

    def __init__(self, cfg: EvalConfig, tasks: dict[str, Task], folder: Path | None = None):
        self._cfg, self._tasks = cfg, tasks
        self._housing = Housing(folder, cfg.limits.act_s)
        self._briefings = {task.name: cache(partial(suites.briefing, task.suite, task.options)) for task in cfg.tasks}

    def spaces(self) -> SpaceInfo:
        """What loaders are told."""
        return spaces_of(self._tasks.values(), self._briefings)

    def load(self, agent: str) -> AnyPolicy:
        """Raises InputError, whatever the policy's own code raises."""
        return load_agent(self._cfg.agent(agent), self.spaces(), self._housing)

    def try_loading(self, agents: Iterable[str], waiting: Callable[[], None]) -> None:
        """Load and let go of the agents whose turn comes later: one that cannot be loaded is found now."""
        for name in agents:
            waiting()
            policy, before = self.load(name), forks()
            with suppress(*BREAKS):
                policy.close()
            end_if_copied(before)


def load_agent(agent: AgentCfg, spaces: SpaceInfo, housing: Housing | None = None) -> AnyPolicy:
    """An agent's policy. Raises InputError, whatever the policy's own code raises."""
    before = forks()
    try:
        return load_anywhere(agent, spaces, housing)
    except InputError:
        raise
    except BREAKS as problem:
        log.warning("agent %s cannot be loaded", agent.name, exc_info=True)
        raise InputError(f'agent "{agent.name}" cannot be loaded: {type(problem).__name__}: {problem}') from problem
    finally:
        end_if_copied(before)
