"""Policies that live in a worker, next to the environments.

A policy that answers sooner than a message gets to the engine and back (a script, a table, a few small matrices) is
asked here, for every trial of the worker that waits. Rows, padding and generators are those of the engine's forwards,
so a record does not tell where its policy was asked.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, partial
from typing import TYPE_CHECKING

import numpy as np

from proctor import suites
from proctor.config.models import AgentCfg
from proctor.policies import load_policy, options_for
from proctor.policies.protocol import Decision, Execute, Goto
from proctor.record.episode import Outcome
from proctor.rollout.ask.lanes import LaneStats
from proctor.rollout.ask.runner import MAX_HOPS, Answer, Chunks, PolicyRunner, Request, endless, setback, too_long
from proctor.rollout.messages import Asked, Finish, Refused, TaskInfo, spaces_of
from proctor.rollout.worker.faults import BREAKS, explain
from proctor.rollout.worker.pulse import ACTING, ALL_SLOTS, LOADING
from proctor.rollout.worker.trial import Job

if TYPE_CHECKING:
    from proctor.rollout.worker.host import Host
    from proctor.rollout.worker.together import Lineup

TELL_S = 0.1
"""How often the engine hears how far trials have come."""


@dataclass
class Tally:
    """What one stage has done since the engine last heard of it."""

    stats: LaneStats = field(default_factory=LaneStats)
    steps: int = 0


class Resident:
    """One policy. `own`: it was loaded here, and is closed here."""

    def __init__(self, runner: PolicyRunner, own: bool):
        self.runner, self.own = runner, own
        self.max_batch = {stage.name: stage.max_batch for stage in runner.stages}
        self.tallies = {stage.name: Tally() for stage in runner.stages}


class Wish(Request):
    """What a trial wants of the policy in its own worker."""

    __slots__ = ("hops", "job", "resident", "stage")

    def __init__(self, job: Job, resident: Resident):
        super().__init__(job.start.slot, job.start.trial, job.runtime.entry)
        self.job, self.resident = job, resident
        self.stage, self.hops = resident.runner.first_stage, 0


class Residents:
    """The policies of a host, by agent. `waiting`: trials that need one of them."""

    def __init__(self, host: Host):
        self._host = host
        self._by_agent: dict[str, Resident] = {}
        self.waiting: list[Wish] = []
        limit = host.cfg.limits.act_s
        self._limit_s = math.inf if limit is None else limit
        self._told_at = 0.0

    # Coming and going -----------------------------------------------------------------------------------------------

    def lend(self, agent: str, runner: PolicyRunner) -> None:
        """Take in a policy that is loaded already, and somebody else's to close."""
        self._by_agent[agent] = Resident(runner, own=False)

    def load(self, agent: AgentCfg, infos: Sequence[TaskInfo]) -> None:
        """Load an agent that the engine has loaded before, so that it is known to be sound."""
        host = self._host
        briefings = {name: cache(partial(suites.briefing, task)) for name, task in host.cfg.tasks.items()}
        host.pulse.begin(LOADING, ALL_SLOTS)
        try:
            runner = PolicyRunner.of(load_policy(agent, spaces_of(infos, briefings)), options_for(agent))
        except BREAKS as problem:
            host.emit(Refused(agent.name, explain(problem)))
            return
        finally:
            host.pulse.end()
        self._by_agent[agent.name] = Resident(runner, own=True)

    def close(self) -> None:
        """Let go of every policy. No trial may be running that needs one."""
        for resident in self._by_agent.values():
            if resident.own:
                with suppress(*BREAKS):
                    resident.runner.policy.close()
        self._by_agent = {}
        self.waiting = []

    # Asking -----------------------------------------------------------------------------------------------------------

    def wish(self, job: Job) -> Wish:
        """Of a trial that begins."""
        return Wish(job, self._by_agent[job.start.trial.agent])

    def ask(self, wish: Wish) -> None:
        """Its environment has been stepped, and needs an action."""
        wish.leaves = wish.job.observation
        self.waiting.append(wish.ask(0, time.monotonic()))

    def answer(self) -> None:
        """Ask the policies for all that wait, those of one agent and stage together."""
        waiting, self.waiting = self.waiting, []
        together: dict[tuple[str, str, str], list[Wish]] = {}
        for wish in waiting:
            if wish.job.wish is wish:  # its trial has not been ended meanwhile
                together.setdefault((wish.trial.agent, wish.stage, wish.task.key), []).append(wish)
        for (_, stage, _), wishes in together.items():
            size = wishes[0].resident.max_batch[stage] or len(wishes)
            for i in range(0, len(wishes), size):
                self._forward(wishes[0].resident, stage, wishes[i : i + size])
        if time.monotonic() - self._told_at > TELL_S:
            self.tell()

    def act_together(self, lineup: Lineup, leaves: Sequence[np.ndarray]) -> list[Chunks] | None:
        """What the policies of a lineup, whose observations are `leaves`, answer: for each of its parts. None where
        they must be asked one by one."""
        everyone = len(lineup.parts) == 1
        began = time.monotonic()
        self._host.pulse.begin(ACTING, ALL_SLOTS)
        found: list[Chunks | None] = []
        for resident, rows, wishes, trials in lineup.parts:
            for wish in wishes:
                wish.stream.keep()
            columns = leaves if everyone else [leaf[rows] for leaf in leaves]
            found.append(resident.runner.act_together(wishes, trials, columns))
        seconds = self._host.pulse.end()
        known = [chunks for chunks in found if chunks is not None]
        if seconds > self._limit_s or len(known) < len(found):
            for part in lineup.parts:
                for wish in part.wishes:
                    wish.stream.rewind()
            return None
        for part, chunks in zip(lineup.parts, known, strict=True):
            rows, horizon = chunks.actions.shape[:2]
            tally = part.resident.tallies[part.resident.runner.first_stage]
            tally.stats.add(LaneStats(1, rows, seconds, rows * seconds))
            tally.steps += rows * horizon
        if began - self._told_at > TELL_S:
            self.tell()
        return known

    def tell(self) -> None:
        """Let the engine know what has been asked."""
        self._told_at = time.monotonic()
        for agent, resident in self._by_agent.items():
            for stage, tally in resident.tallies.items():
                if tally.stats.forwards or tally.steps:
                    self._host.emit(Asked(agent, stage, tally.stats, tally.steps))
                    resident.tallies[stage] = Tally()

    def _forward(self, resident: Resident, stage: str, wishes: list[Wish]) -> None:
        pulse, began, run = self._host.pulse, time.monotonic(), self._host.run
        answers: Sequence[Answer] = ()
        pulse.begin(ACTING, wishes[0].slot if len(wishes) == 1 else ALL_SLOTS)
        chunks = self._chunks(resident, wishes)
        if chunks is None:
            answers = resident.runner.answers(stage, wishes)
        seconds = pulse.end()
        tally = resident.tallies[stage]
        tally.stats.count(wishes, began, seconds)
        if seconds > self._limit_s:
            self._too_slow(resident, stage, wishes)
            return
        if chunks is not None:
            actions, valid = chunks
            tally.steps += len(wishes) * actions.shape[1]
            for wish, chunk in zip(wishes, actions, strict=True):
                run(wish.slot, chunk, valid)
            return
        steps = 0
        for wish, (_, decision, state, error, valid) in zip(wishes, answers, strict=True):
            wish.state = state
            if type(decision) is Execute:
                wish.stage, wish.hops = decision.then, 0
                steps += len(decision.actions)
                run(wish.slot, decision.actions, valid)
            else:
                self._without_action(wish, decision, error)
        tally.steps += steps

    @staticmethod
    def _chunks(resident: Resident, wishes: list[Wish]) -> Chunks | None:
        """The answers in one array, where they are to be had so."""
        task = wishes[0].task
        if not resident.runner.plain or any([wish.task is not task for wish in wishes]):
            return None
        return resident.runner.act_together(wishes, [wish.trial for wish in wishes])

    def _too_slow(self, resident: Resident, stage: str, wishes: list[Wish]) -> None:
        """Its trials are asked again one by one, the slow one fails."""
        if len(wishes) == 1:
            self._host.handle(Finish(wishes[0].slot, Outcome.POLICY_ERROR, too_long(stage, self._limit_s)))
            return
        for wish in wishes:
            wish.stream.rewind()
        for wish in wishes:
            self._forward(resident, stage, [wish])

    def _without_action(self, wish: Wish, decision: Decision | None, error: str | None) -> None:
        if type(decision) is not Goto:
            self._host.handle(Finish(wish.slot, *setback(decision, error)))
            return
        wish.stage = decision.stage
        wish.hops += 1
        if wish.hops <= MAX_HOPS:
            self.ask(wish)
        else:
            self._host.handle(Finish(wish.slot, Outcome.POLICY_ERROR, endless(decision.stage)))
