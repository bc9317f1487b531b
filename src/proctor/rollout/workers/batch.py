"""A batch environment inside a host: N worlds that step in one call, each slot its own trial, seed and length.

The group steps when every running world has an action. Where worlds can be reset one by one, a slot gets its next
trial as soon as its last one ended; otherwise trials run in waves, and a finished world waits for the others. What a
call into the environment breaks, it breaks for every trial in it.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from proctor import suites
from proctor.record.episode import Outcome
from proctor.rollout.messages import Start
from proctor.rollout.workers.faults import BREAKS, explain
from proctor.rollout.workers.job import Job
from proctor.rollout.workers.pulse import ALL_SLOTS, RESETTING, STEPPING
from proctor.suites.protocol import BatchEnv, Step

if TYPE_CHECKING:
    from proctor.rollout.workers.host import Host


class BatchGroup:
    """The trials in one batch environment. `jobs` maps slot (= world) to trial."""

    def __init__(self, host: Host, task: str, worlds: int):
        self.host, self.task, self.worlds = host, task, worlds
        self.env: BatchEnv | None = None
        self.jobs: dict[int, Job] = {}
        self._starts: list[Start] = []

    def add(self, start: Start) -> None:
        self._starts.append(start)

    @property
    def can_go(self) -> bool:
        return self._can_reset or (bool(self.jobs) and all(job.has_action for job in self.jobs.values()))

    @property
    def _can_reset(self) -> bool:
        return bool(self._starts) and (not self.jobs or (self.env is not None and self.env.partial_reset))

    def go(self) -> None:
        if self._can_reset:
            self._reset()
        else:
            self._step()

    def close(self) -> None:
        for job in self.jobs.values():
            job.abandon()
        self.jobs.clear()
        if self.env is not None:
            with suppress(*BREAKS):
                self.env.close()
            self.env = None

    def _reset(self) -> None:
        starts, self._starts = self._starts, []
        host = self.host
        host.pulse.begin(RESETTING, ALL_SLOTS)
        try:
            env = self._environment(any(s.video for s in starts))
            runtime = host.runtime_for(self.task, env)
            observations = env.reset(
                [s.slot for s in starts], [s.trial.seed for s in starts], [s.trial.index for s in starts]
            )
            for start, observation in zip(starts, observations, strict=True):
                job = self.jobs[start.slot] = host.new_job(start, runtime)
                job.began(observation, env.constants(start.slot))
                if job.wants_frame():
                    job.film(env.render(start.slot))
        except BREAKS as problem:
            host.pulse.end()
            self._break({*self.jobs, *(s.slot for s in starts)}, Outcome.ENV_ERROR, problem)
            return
        elapsed = host.pulse.end()
        for start in starts:
            job = self.jobs[start.slot]
            late = host.overdue(job, elapsed, host.cfg.limits.reset_s)
            if late:
                host.fault(start.slot, Outcome.TIMEOUT, late)
            elif not job.has_action:
                host.ask(start.slot, job)

    def _environment(self, render: bool) -> BatchEnv:
        if self.env is None:
            env = suites.make_env(self.host.cfg.tasks[self.task], render=render, worlds=self.worlds)
            assert isinstance(env, BatchEnv)
            self.env = env
        return self.env

    def _step(self) -> None:
        host, env = self.host, self.env
        assert env is not None
        actions = {slot: job.next_action() for slot, job in self.jobs.items()}
        for slot in [s for s, action in actions.items() if action is None]:
            del actions[slot]
            host.invalid(slot, self.jobs[slot])
        if not actions:
            return
        host.pulse.begin(STEPPING, ALL_SLOTS)
        try:
            steps = env.step(actions)
            frames = {s: env.render(s) for s in actions if self.jobs[s].video is not None}
        except BREAKS as problem:
            host.pulse.end()
            self._break(set(actions), Outcome.ENV_ERROR, problem)
            return
        elapsed = host.pulse.end()
        for slot in actions:
            self._after_step(slot, steps[slot], elapsed)
            job = self.jobs.get(slot)
            if job is not None and slot in frames and job.wants_frame():
                job.film(frames[slot])

    def _after_step(self, slot: int, step: Step, elapsed: float) -> None:
        host, job = self.host, self.jobs[slot]
        try:
            job.took_step(step)
        except BREAKS as problem:
            host.fault(slot, Outcome.ENV_ERROR, explain(problem))
            return
        late = host.overdue(job, elapsed, host.cfg.limits.step_s)
        if late:
            host.fault(slot, Outcome.TIMEOUT, late)
        elif job.end is not None:
            host.finish(slot, job)
        elif not job.has_action:
            host.ask(slot, job)

    def _break(self, slots: set[int], outcome: Outcome, problem: BaseException) -> None:
        for slot in sorted(slots):
            self.host.fault(slot, outcome, explain(problem))
        self.close()
