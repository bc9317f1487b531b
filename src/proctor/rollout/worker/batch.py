"""A batch environment inside a host: N worlds that step in one call, each slot its own trial, seed and length.

The group steps when every running world has an action. Where worlds can be reset one by one, a slot gets its next
trial as soon as its last one ended; otherwise trials run in waves, and a finished world waits for the others. What a
call into the environment breaks, it breaks for every trial in it.

Where environment and policies allow it, worlds are asked, stepped and recorded as columns (`together`), and looked at
one by one only when something happens to them.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np

from proctor import suites
from proctor.record.episode import Outcome
from proctor.rollout.ask.runner import Chunks
from proctor.rollout.messages import Start
from proctor.rollout.worker.faults import BREAKS, explain
from proctor.rollout.worker.pulse import ALL_SLOTS, RESETTING, STEPPING
from proctor.rollout.worker.together import Lineup, Page, Together, check, joined, line_up, step_of
from proctor.rollout.worker.trial import Job, TaskRuntime
from proctor.suites.protocol import BatchEnv, ColumnEnv, Columns, Step

if TYPE_CHECKING:
    from proctor.rollout.worker.host import Host


class BatchGroup:
    """The trials in one batch environment. `jobs` maps slot (= world) to trial."""

    def __init__(self, host: Host, task: str, worlds: int):
        self.host, self.task, self.worlds = host, task, worlds
        self.env: BatchEnv | None = None
        self.jobs: dict[int, Job] = {}
        self._starts: list[Start] = []
        self._together: Together | None = None
        """Where the worlds' observations and pages are, if this environment speaks in columns."""
        self._abreast = False
        """Whether nobody has an action, and all are asked and stepped as columns next."""
        self._lineup: Lineup | None = None

    def add(self, start: Start) -> None:
        self._starts.append(start)

    @property
    def can_go(self) -> bool:
        if self._can_reset:
            return True
        return bool(self.jobs) and (self._abreast or all(job.has_action for job in self.jobs.values()))

    @property
    def _can_reset(self) -> bool:
        return bool(self._starts) and (not self.jobs or (self.env is not None and self.env.partial_reset))

    def go(self) -> None:
        if self._can_reset:
            self._reset()
        elif self._abreast:
            self._step_abreast()
        else:
            self._step()

    def release(self, slot: int) -> None:
        """A slot's trial is over."""
        if self.jobs.pop(slot, None) is not None:
            self._lineup = None
            if self._together is not None:
                self._together.forget(slot)

    def close(self) -> None:
        for job in self.jobs.values():
            job.abandon()
        self.jobs.clear()
        self._together, self._abreast, self._lineup = None, False, None
        if self.env is not None:
            with suppress(*BREAKS):
                self.env.close()
            self.env = None

    def _reset(self) -> None:
        starts, self._starts = self._starts, []
        host, others = self.host, list(self.jobs)
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
        started = []
        for start in starts:
            job = self.jobs[start.slot]
            late = host.overdue(job, elapsed, host.cfg.limits.reset_s)
            if late:
                host.fault(start.slot, Outcome.TIMEOUT, late)
            else:
                started.append(start.slot)
        self._go_on(started, others)

    def _environment(self, render: bool) -> BatchEnv:
        if self.env is None:
            env = suites.make_env(self.host.cfg.tasks[self.task], render=render, worlds=self.worlds)
            assert isinstance(env, BatchEnv)
            self.env = env
            self._together = Together(self.worlds) if isinstance(env, ColumnEnv) else None
        return self.env

    # One by one -----------------------------------------------------------------------------------------------------

    def _go_on(self, slots: list[int], others: list[int]) -> None:
        """These have just been looked at; the others wait for what they have asked, or stand abreast."""
        free = self._abreast or not others
        self._abreast = free and bool(self.jobs) and self._may_be_abreast()
        if self._abreast:
            self._take_in(slots)
            return
        if free:  # nobody has asked yet
            self._fall_out(others)
            slots = list(self.jobs)
        for slot in slots:
            if not self.jobs[slot].has_action:
                self.host.ask(slot, self.jobs[slot])

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
        self._go_on([slot for slot in actions if slot in self.jobs], [])

    def _after_step(self, slot: int, step: Step, elapsed: float) -> None:
        host, job = self.host, self.jobs[slot]
        if self._together is not None:
            self._together.hand_over(slot, job)
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

    def _break(self, slots: set[int], outcome: Outcome, problem: BaseException) -> None:
        for slot in sorted(slots):
            self.host.fault(slot, outcome, explain(problem))
        self.close()

    # Abreast --------------------------------------------------------------------------------------------------------

    def _may_be_abreast(self) -> bool:
        if self._together is None or not all(_plain(job) for job in self.jobs.values()):
            return False
        layout = next(iter(self.jobs.values())).runtime.layout
        return layout is not None and layout.flat

    def _take_in(self, slots: list[int]) -> None:
        """Trials that have been looked at by themselves go on abreast."""
        assert self._together is not None
        if slots:
            self._together.see(slots, [self.jobs[slot].observation for slot in slots])
        for slot in slots:
            self._together.begin(slot, len(self.jobs[slot].builder))
        self._lineup = None

    def _fall_out(self, slots: list[int]) -> None:
        """Trials that stood abreast go on by themselves."""
        for slot in slots:
            if self._together is not None and slot in self.jobs:
                self.jobs[slot].observation = self._together.observation(slot)

    def _step_abreast(self) -> None:
        host, env, together = self.host, self.env, self._together
        assert isinstance(env, ColumnEnv)
        assert together is not None
        lineup = self._lineup = self._lineup or line_up(self.jobs, self.worlds)
        everyone = isinstance(lineup.rows, slice)
        answers = host.residents.act_together(
            lineup, together.leaves if everyone else [leaf[lineup.rows] for leaf in together.leaves]
        )
        actions = None if answers is None else joined(lineup, answers)
        if actions is None:
            self._step_out(lineup, answers)
            return
        host.pulse.begin(STEPPING, ALL_SLOTS)
        try:
            columns = env.step_columns(None if everyone else np.array(lineup.slots), actions)
            check(columns, len(lineup.slots))
        except BREAKS as problem:
            host.pulse.end()
            self._break(set(lineup.slots), Outcome.ENV_ERROR, problem)
            return
        self._digest(lineup, actions, columns, host.pulse.end())

    def _step_out(self, lineup: Lineup, answers: list[Chunks] | None) -> None:
        """Not everyone has one valid action: they go on by themselves, with what they have been answered."""
        self._abreast = False
        self._fall_out(lineup.slots)
        if answers is None:
            for slot in lineup.slots:
                self.host.ask(slot, self.jobs[slot])
            return
        for part, (actions, valid) in zip(lineup.parts, answers, strict=True):
            for wish, chunk in zip(part.wishes, actions, strict=True):
                wish.job.execute(chunk, valid)

    def _digest(self, lineup: Lineup, actions: np.ndarray, columns: Columns, elapsed: float) -> None:
        together, runtime = self._together, lineup.jobs[0].runtime
        assert together is not None
        assert runtime.layout is not None
        leaves = runtime.layout.columns(columns.observation, len(lineup.slots))
        together.steps[lineup.rows] += 1
        if leaves is not None:
            together.seen(lineup.rows, leaves)
        if leaves is None or self._out_of_time(lineup, elapsed):
            eventful = lineup.slots
        else:
            eventful = self._eventful(lineup, columns, together.steps[lineup.rows], runtime)
        for slot in eventful:
            together.hand_over(slot, self.jobs[slot])
        reward, success, signals = columns.reward, columns.success, columns.signals
        together.write(lineup, Page(actions, reward, success, signals, leaves if leaves and runtime.labels else []))
        for job in lineup.jobs:
            job.seconds += elapsed
        for slot in eventful:
            job, row = self.jobs[slot], lineup.at[slot]
            together.begin(slot, len(job.builder) + 1)
            job.seconds -= elapsed
            job.execute(actions[row : row + 1], valid=True)
            job.next_action()
            self._after_step(slot, step_of(columns, row), elapsed)
        if leaves is None:
            self._abreast = False
            self._go_on([slot for slot in eventful if slot in self.jobs], [])

    def _out_of_time(self, lineup: Lineup, elapsed: float) -> bool:
        limits = self.host.cfg.limits
        if limits.step_s is not None and elapsed > limits.step_s:
            return True
        whole = limits.trial_s
        return whole is not None and any(job.seconds + elapsed > whole for job in lineup.jobs)

    @staticmethod
    def _eventful(lineup: Lineup, columns: Columns, steps: np.ndarray, runtime: TaskRuntime) -> list[int]:
        """The slots whose trial ends with this step, well or badly."""
        over = columns.terminated | columns.truncated | (steps >= runtime.max_steps) | ~np.isfinite(columns.reward)
        if runtime.stop_on_success:
            over = over | columns.success
        return [lineup.slots[row] for row in np.flatnonzero(over)]


def _plain(job: Job) -> bool:
    """Whether nothing of a trial needs a look of its own at each step."""
    wish = job.wish
    return wish is not None and wish.resident.runner.plain and not job.has_action and job.video is None
