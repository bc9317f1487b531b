"""What a worker of the engine's own interpreter has beside `proctor_host`, which is the inside of every worker: suites,
metrics, an encoder, and policies that live next to the environments (`placement: worker`).

A policy that answers sooner than a message gets to the engine and back (a script, a table, a few small matrices) is
asked here, for every trial of the worker that waits. Rows, padding and generators are those of the engine's forwards,
so a record does not tell where its policy was asked.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from proctor import metrics, suites
from proctor.config.models import AgentCfg
from proctor.interpreters import command
from proctor.metrics.registry import beside
from proctor.policies import load_policy, loader_for, options_for
from proctor.policies.protocol import SpaceInfo
from proctor.record.video import VideoWriter
from proctor.rollout.ask.columns import Pilot, rows_beside, why_not, widened
from proctor.rollout.ask.decide import decide, too_long
from proctor.rollout.ask.lanes import LaneStats
from proctor.rollout.ask.requests import Request, guilty
from proctor.rollout.ask.runner import PolicyRunner
from proctor.rollout.tasks import Task, spaces_of
from proctor.threads import pinned
from proctor_host.cfg import TaskCfg
from proctor_host.episode import Episode, Outcome
from proctor_host.errors import BREAKS, explain
from proctor_host.extras import Extras, import_object
from proctor_host.frames import FrameSpool
from proctor_host.host import Host
from proctor_host.limits import ACTING, ALL_SLOTS, LOADING, UNLOADING
from proctor_host.messages import Asked, Refused

if TYPE_CHECKING:
    from proctor_host import task as described
    from proctor_host.group import Group
    from proctor_host.kit import Kit
    from proctor_host.trial import RunningTrial


TELL_S = 0.1
"""How often the engine hears how far trials have come."""


@dataclass
class Tally:
    """What one stage has done since the engine last heard of it."""

    stats: LaneStats = field(default_factory=LaneStats)
    steps: int = 0


class LocalPolicy:
    """One agent's policy. `own`: it was loaded here, and is closed here."""

    def __init__(self, runner: PolicyRunner, own: bool):
        self.runner, self.own = runner, own
        self.max_batch = {stage.name: stage.max_batch for stage in runner.stages}
        self.tallies = {stage.name: Tally() for stage in runner.stages}
        self.pilots: dict[str, Pilot] = {}
        """Where it is asked for all worlds of a device at once, by task."""


class LocalPolicies:
    """The policies of a worker, by agent. `waiting` are the requests of trials that need one of them."""

    def __init__(self, host: Host):
        self._host = host
        self._by_agent: dict[str, LocalPolicy] = {}
        self._tasks: dict[str, Task] = {}
        self.waiting: list[Request] = []
        self._told_at = 0.0

    def lend(self, agent: str, runner: PolicyRunner) -> None:
        """Take in a policy that is loaded already, and somebody else's to close."""
        self._by_agent[agent] = LocalPolicy(runner, own=False)

    def load(self, agent: AgentCfg) -> None:
        """Load an agent that the engine has loaded before, so that it is known to be sound."""
        host = self._host
        briefings = {
            name: cache(partial(suites.briefing, task.suite, task.options)) for name, task in host.cfg.tasks.items()
        }
        spaces = spaces_of([self._known(task) for task in host.tasks], briefings)
        runner, problem, _ = host.watch.call(LOADING, ALL_SLOTS, _loaded, agent, spaces, host.tasks)
        if problem is not None:
            host.emit(Refused(agent.name, explain(problem)))
        else:
            self._by_agent[agent.name] = LocalPolicy(runner, own=True)

    def _known(self, inside: described.Task) -> Task:
        """The task with what its policies are told."""
        task = self._tasks.get(inside.name)
        if task is None or task.inside is not inside:
            task = self._tasks[inside.name] = Task(inside)
        return task

    def knows(self, agent: str) -> bool:
        """Whether this agent's policy is here."""
        return agent in self._by_agent

    def pilot(self, agent: str, inside: described.Task, kit: Kit) -> Pilot | str:
        """An agent's policy beside the worlds of a device, or why it cannot be asked there."""
        local = self._by_agent.get(agent)
        if local is None:
            return "its policy is asked by the engine"
        pilot = local.pilots.get(inside.name)
        if pilot is None or pilot.kit is not kit:
            pad_to = local.runner.rows(local.runner.first_stage)
            if (why := why_not(local.runner.policy, inside, pad_to)) is not None:
                return why
            assert inside.worlds is not None
            pilot = local.pilots[inside.name] = Pilot(local.runner, self._known(inside), inside.worlds, kit)
        return pilot

    def close(self) -> None:
        """Let go of every policy. No trial may be running that needs one."""
        for local in self._by_agent.values():
            if local.own:
                self._host.watch.call(UNLOADING, ALL_SLOTS, local.runner.policy.close)
        self._by_agent, self.waiting = {}, []

    # Asking -----------------------------------------------------------------------------------------------------------

    def request(self, trial: RunningTrial) -> Request:
        """What a trial that begins asks; the trial owns it."""
        start, agent, task = trial.start, trial.start.trial.agent, self._known(trial.task)
        trial.company = agent, task.key, start.slot if start.alone else None
        request = Request(trial, start.trial, task, self._by_agent[agent].runner.first_stage)
        request.see(trial.group.worlds.seen, start.slot)
        return request

    def ask(self, requests: Sequence[Request]) -> None:
        """These need an action, now that their environments have been stepped."""
        now = time.monotonic()
        self.waiting.extend([request.ask(0, now) for request in requests])

    def answer(self) -> None:
        """Ask the policies for all that wait, those of one agent and stage together."""
        waiting, self.waiting = self.waiting, []
        alike: dict[Any, list[Request]] = {}
        stage, company, some = "", None, list[Request]()
        for request in waiting:
            trial: RunningTrial = request.owner
            if trial.request is not request:
                continue  # a call has broken the trials of all its worlds
            if request.stage != stage or trial.company != company:
                stage, company = request.stage, trial.company
                some = alike.setdefault((stage, company), [])
            some.append(request)
        for (stage, (agent, *_)), requests in alike.items():
            local = self._by_agent[agent]
            size = local.max_batch[stage] or len(requests)
            for i in range(0, len(requests), size):
                self._forward(local, stage, requests[i : i + size])
        if time.monotonic() - self._told_at > TELL_S:
            self.tell()

    def tell(self) -> None:
        """Let the engine know what has been asked."""
        self._told_at = time.monotonic()
        for agent, local in self._by_agent.items():
            for pilot in local.pilots.values():
                tally = local.tallies[local.runner.first_stage]
                stats, steps = pilot.tell()
                tally.stats.add(stats)
                tally.steps += steps
            for stage, tally in local.tallies.items():
                if tally.stats.forwards or tally.steps:
                    self._host.emit(Asked(agent, stage, tally.stats, tally.steps))
                    local.tallies[stage] = Tally()

    def _forward(self, local: LocalPolicy, stage: str, requests: list[Request]) -> None:
        host, began = self._host, time.monotonic()
        asked = _slot(requests[0]) if len(requests) == 1 else ALL_SLOTS
        host.watch.begin(ACTING, asked)
        answers = local.runner.answers(stage, requests)
        seconds = host.watch.end()
        tally = local.tallies[stage]
        tally.stats.count(requests, began, seconds)
        if seconds > host.limits.act_s:
            self._too_slow(local, stage, requests)
            return
        if found := local.runner.examine(stage, partial(host.watch.begin, ACTING, asked)):
            tally.stats.found += found
            host.watch.end()
        acting, chunks, asking, ended = decide(answers)
        for group, slots, rows in _by_group(acting):
            tally.steps += host.take(group, slots, chunks, rows)
        self.ask(asking)
        for request, outcome, error in ended:
            host.end(_slot(request), outcome, error)

    def _too_slow(self, local: LocalPolicy, stage: str, requests: list[Request]) -> None:
        """A forward took longer than the limit: its trials are asked again one by one, and who is slow again fails."""
        if guilty(requests):
            reason = too_long(stage, self._host.limits.act_s)
            self._host.end(_slot(requests[0]), Outcome.POLICY_ERROR, reason)
            return
        for request in requests:
            request.stream.rewind()
        for request in requests:
            self._forward(local, stage, [request])


def _loaded(agent: AgentCfg, spaces: SpaceInfo, tasks: Sequence[described.Task]) -> PolicyRunner:
    policy, options = load_policy(agent, spaces), options_for(agent)
    runner = PolicyRunner.of(policy, widened(options, rows_beside(policy, options, tasks)))
    runner.examined = not loader_for(agent.policy).row_by_row
    return runner


def _by_group(requests: Sequence[Request]) -> Iterator[tuple[Group, list[int], list[int]]]:
    """The groups whose trials these requests are, with their slots and their rows of the requests."""
    groups = [request.owner.group for request in requests]
    slots = [request.owner.start.slot for request in requests]
    if groups and groups.count(groups[0]) == len(groups):
        yield groups[0], slots, list(range(len(groups)))
        return
    for group in dict.fromkeys(groups):
        rows = [row for row, other in enumerate(groups) if other is group]
        yield group, [slots[row] for row in rows], rows


def _slot(request: Request) -> int:
    """The slot of the trial that asks."""
    return request.owner.start.slot


HERE = f"{__name__}:EngineExtras"
"""How a worker process of this interpreter finds them."""


class EngineExtras(Extras):
    """Everything that Proctor has."""

    measures = True

    def make(self, task: TaskCfg, render: bool, worlds: int) -> Any:
        return suites.make_env(task.suite, task.options, render=render, worlds=worlds)

    def check(self, task: described.Task) -> None:
        """Whatever a space is, its observations can be sent to another process of this interpreter."""

    def measure(self, episode: Episode) -> dict[str, float | None]:
        return metrics.compute(episode, tuple(self.cfg.metrics))

    def warm_up(self) -> None:
        for suite in {task.suite for task in self.cfg.tasks.values()}:
            with suppress(*BREAKS):  # whoever needs the kernel meets it again
                for name in suites.find_suite(suite).kernels:
                    import_object(name)()

    def beside(self, episode: Episode) -> bool:
        return beside(episode, tuple(self.cfg.metrics))

    def scribe(self) -> list[str]:
        return command("from proctor_host.scribe import main; main()")

    def film(self, folder: Path | None, stem: str, fps: float) -> VideoWriter | FrameSpool:
        if folder is None:
            return FrameSpool(folder, stem, fps)
        return VideoWriter(folder / "videos" / f"{stem}.mp4", fps, poster=True)

    def policies(self, host: Host) -> LocalPolicies:
        return LocalPolicies(host)

    def pinned(self) -> AbstractContextManager[Any]:
        return pinned()
