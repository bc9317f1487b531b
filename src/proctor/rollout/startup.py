"""What happens before the first trial: kernels are compiled, tasks are learned of, policies are loaded.

Whatever cannot be had is found here, as an InputError, before anything has been run.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial

from proctor import suites
from proctor.config.models import AgentCfg, EvalConfig
from proctor.errors import BREAKS, InputError
from proctor.kernels import compile_first
from proctor.policies import load_policy
from proctor.policies.protocol import AnyPolicy, SpaceInfo
from proctor.rollout.crew import Crew, Member
from proctor.rollout.messages import Know, Probe, Probed, ProbeFailed, SeedIgnored
from proctor.rollout.progress import CancelToken
from proctor.rollout.tasks import Task, spaces_of

WATCH_S, WORK_S = 0.05, 0.002

log = logging.getLogger("proctor")


def compile_kernels(cfg: EvalConfig, waiting: Callable[[], None]) -> None:
    """Compile what the suites need, before there are workers, which would all do it at once."""
    compile_first(dict.fromkeys(name for task in cfg.tasks for name in suites.suite_for(task).kernels), waiting)


def learn_tasks(crew: Crew, names: Iterable[str], cancel: CancelToken, waiting: Callable[[], None]) -> dict[str, Task]:
    """Every task, as the workers that will run it find it, and told to all of them. Raises InputError where an
    environment cannot be made."""
    tasks: dict[str, Task] = {}
    failed: dict[str, str] = {}
    expected: dict[str, Member] = {}
    for i, name in enumerate(names):
        member = expected[name] = crew.members[i % len(crew.members)]
        member.worker.send(Probe(name))
    crew.flush()
    while expected and not cancel.cancelled:
        crew.work(WORK_S)
        for event in [event for _, events in crew.events() for event in events]:
            if isinstance(event, Probed):
                tasks[event.task.name] = event.task
                del expected[event.task.name]
            elif isinstance(event, SeedIgnored) and event.task in tasks:
                tasks[event.task] = replace(tasks[event.task], initial_states=1)
            elif isinstance(event, ProbeFailed):
                failed[event.task] = event.error.split("\n", 1)[0]
                del expected[event.task]
        _replace_lost(crew, expected, failed)
        if expected and not crew.busy:
            crew.wait(WATCH_S)
        waiting()
    if failed:
        raise InputError("\n".join(f'the environment of task "{t}" cannot be made: {e}' for t, e in failed.items()))
    for member in crew.members:
        member.worker.send(Know(tuple(tasks.values())))
    return tasks


def _replace_lost(crew: Crew, expected: dict[str, Member], failed: dict[str, str]) -> None:
    for member in crew.members:
        if lost := member.worker.lost():
            tasks = [task for task, owner in expected.items() if owner is member]
            failed |= {task: lost.reason for task in tasks[:1]} or {"worker": lost.reason}
            for task in tasks:
                del expected[task]
            crew.replace(member, lost)


class Loading:
    """Loads policies for the tasks of a run."""

    def __init__(self, cfg: EvalConfig, tasks: dict[str, Task]):
        self._cfg, self._tasks = cfg, tasks
        self._briefings = {task.name: cache(partial(suites.briefing, task)) for task in cfg.tasks}

    def spaces(self) -> SpaceInfo:
        """What loaders are told."""
        return spaces_of(self._tasks.values(), self._briefings)

    def load(self, agent: str) -> AnyPolicy:
        """Raises InputError, whatever the policy's own code raises."""
        return load_agent(self._cfg.agent(agent), self.spaces())

    def try_loading(self, agents: Iterable[str], waiting: Callable[[], None]) -> None:
        """Load and let go of the agents whose turn comes later: one that cannot be loaded is found now."""
        for name in agents:
            waiting()
            policy = self.load(name)
            with suppress(*BREAKS):
                policy.close()


def load_agent(agent: AgentCfg, spaces: SpaceInfo) -> AnyPolicy:
    """An agent's policy. Raises InputError, whatever the policy's own code raises."""
    try:
        return load_policy(agent, spaces)
    except InputError:
        raise
    except BREAKS as problem:
        log.warning("agent %s cannot be loaded", agent.name, exc_info=True)
        raise InputError(f'agent "{agent.name}" cannot be loaded: {type(problem).__name__}: {problem}') from problem
