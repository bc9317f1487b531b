"""A worker's inside: environments, the trials that run in them, and stepping whichever has an action.

The host is the same in the caller's process and in one of its own. `handle` takes a command and returns at once;
`work` does one thing after another (make and reset, or one step) and reports through `emit`. A slot keeps its
environment for the next trial of the same task and tool, and closes it before it takes another, so live environments
never exceed slots.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress

import numpy as np

from proctor import suites
from proctor.config.models import TaskCfg
from proctor.record.episode import Outcome
from proctor.rollout.messages import (
    Close,
    Command,
    Done,
    Event,
    Fatal,
    Fault,
    Finish,
    Load,
    Probe,
    ProbeFailed,
    Run,
    Spent,
    Start,
    TaskInfo,
    Unload,
)
from proctor.rollout.worker.batch import BatchGroup
from proctor.rollout.worker.faults import BREAKS, explain
from proctor.rollout.worker.pulse import RESETTING, STEPPING, Pulse, Stopwatch
from proctor.rollout.worker.recorder import Recorder
from proctor.rollout.worker.residents import Residents
from proctor.rollout.worker.rounds import Rounds
from proctor.rollout.worker.trial import DEFAULT_MAX_STEPS, HostCfg, Job, TaskRuntime
from proctor.suites.protocol import BatchEnv, Env


class Place:
    """A slot: the environment it holds, and the trial that runs in it."""

    __slots__ = ("env", "job", "renders", "start", "task")

    def __init__(self) -> None:
        self.env: Env | None = None
        self.task: TaskCfg | None = None
        self.renders = False
        self.start: Start | None = None
        self.job: Job | None = None


class Host:
    """`slots` places, one batch environment at most."""

    def __init__(self, cfg: HostCfg, slots: int, emit: Callable[[Event], None], pulse: Pulse | Stopwatch):
        self.cfg, self.emit, self.pulse = cfg, emit, pulse
        self.places = [Place() for _ in range(slots)]
        self.ready: deque[int] = deque()
        self._probes: deque[str] = deque()
        self._runtimes: dict[str, TaskRuntime] = {}
        self._turns = 0.0
        """What slots have waited while another was stepped, since the last trial was done."""
        self._group: BatchGroup | None = None
        self._is_batch = {name: suites.is_batch(task) for name, task in cfg.tasks.items()}
        limits = cfg.limits
        self._step_limit = math.inf if limits.step_s is None else limits.step_s
        self._trial_limit = math.inf if limits.trial_s is None else limits.trial_s
        self.residents = Residents(self)
        self._rounds = Rounds(self)
        self.made = 0
        """Steps of environments so far."""
        self._recorder = Recorder(cfg.folder, cfg.record.level != "summary", cfg.metrics)

    @property
    def busy(self) -> bool:
        """Whether `work` has something to do."""
        todo = self.ready or self._probes or self.residents.waiting
        return bool(todo) or (self._group is not None and self._group.can_go)

    @property
    def backlog(self) -> int:
        """How many slots can be stepped now, or as soon as a policy in this worker has been asked."""
        return len(self.ready) + len(self.residents.waiting)

    def runtime_of(self, slot: int) -> TaskRuntime:
        """Of the task that runs in a slot."""
        job = self._job(slot)
        assert job is not None
        return job.runtime

    def handle(self, command: Command) -> None:
        match command:
            case Run(slot, actions, valid):
                self.run(slot, actions, valid)
            case Start(slot, trial):
                if self._is_batch[trial.task]:
                    self._batch_for(trial.task).add(command)
                else:
                    self.places[slot].start = command
                    self.ready.append(slot)
            case Finish(slot, outcome, error):
                job = self._job(slot)
                if job is not None and outcome.scored:
                    self.finish(slot, job, outcome, error)
                elif job is not None:
                    self.fault(slot, outcome, error)
            case Probe(task):
                self._probes.append(task)
            case Load(agent, infos):
                self.residents.load(agent, infos)
            case Unload():
                self.residents.close()
            case Close():
                self.close()

    def run(self, slot: int, actions: np.ndarray, valid: bool) -> None:
        """Execute a chunk of actions in a slot."""
        job = self.places[slot].job
        if job is not None:
            job.execute(actions, valid)
            self.ready.append(slot)
        elif self._group is not None and slot in self._group.jobs:
            self._group.jobs[slot].execute(actions, valid)

    def work(self, until: float) -> None:
        """Step what can be stepped, until nothing can or this time (monotonic) has come; at least once."""
        ready, places = self.ready, self.places
        while True:
            if ready:
                slot = ready.popleft()
                place = places[slot]
                if place.start is not None:
                    self._begin(slot, place)
                elif place.job is not None and place.job.goes_along:
                    self._rounds.go(slot, asked=place.job.wish is None)
                elif place.job is not None:
                    self._step(slot, place, place.job)
            elif self._group is not None and self._group.can_go:
                self._group.go()
            elif self.residents.waiting:
                self.residents.answer()
            elif self._probes:
                self._probe(self._probes.popleft())
            else:
                return
            if time.monotonic() >= until:
                return

    def close(self) -> None:
        """Let go of every environment."""
        for place in self.places:
            if place.job is not None:
                place.job.abandon()
                place.job = None
            self._discard(place)
        if self._group is not None:
            self._group.close()
            self._group = None
        self.ready.clear()
        self.residents.close()

    # What both kinds of environments need ------------------------------------------------------------------------

    def runtime_for(self, task: str, env: Env | BatchEnv) -> TaskRuntime:
        if task not in self._runtimes:
            self._runtimes[task] = TaskRuntime(self.cfg, self.cfg.tasks[task], env)
        return self._runtimes[task]

    def new_job(self, start: Start, runtime: TaskRuntime) -> Job:
        job = Job(start, runtime, self.cfg.folder)
        if start.resident:
            job.wish = self.residents.wish(job)
        return job

    def ask(self, slot: int, job: Job) -> None:
        """A trial needs an action."""
        if job.wish is None:
            self.emit((slot, job.observation))
        else:
            self.residents.ask(job.wish)

    def finish(self, slot: int, job: Job, outcome: Outcome | None = None, error: str | None = None) -> None:
        """End a trial and put its record on disk."""
        began = time.monotonic()
        if job.wish is not None:
            self.residents.tell()
        try:
            finished = job.finish(outcome, error)
        except BREAKS as problem:
            self.fault(slot, Outcome.ENV_ERROR, explain(problem))
            return
        self._release(slot)
        try:
            result = self._recorder.record(finished)
        except Exception as problem:
            self.emit(Fatal(f"the record of trial {finished.trial.key} cannot be written: {explain(problem)}"))
            return
        recording = time.monotonic() - began
        turns, self._turns = self._turns, recording * len(self.ready)
        self.emit(Done(slot, result, Spent(job.seconds, recording, turns)))

    def invalid(self, slot: int, job: Job) -> None:
        """The policy's action cannot be executed; where the observation it saw was broken, the environment is to
        blame."""
        leaves = job.observation if job.runtime.layout is not None else []
        if any(leaf.dtype.kind == "f" and np.isnan(leaf).any() for leaf in leaves):
            self.fault(slot, Outcome.ENV_ERROR, f"the observation holds NaN; the policy answered: {job.invalid}")
        else:
            self.finish(slot, job, Outcome.INVALID_ACTION, job.invalid)

    def fault(self, slot: int, outcome: Outcome, error: str) -> None:
        """An attempt broke: its environment is not used again."""
        job = self._job(slot)
        if job is not None:
            job.abandon()
        self._release(slot)
        self._discard(self.places[slot])
        self.emit(Fault(slot, outcome, error))

    def overdue(self, job: Job, elapsed: float, limit: float | None) -> str | None:
        """Add the seconds of one call, and say which limit they break."""
        job.seconds += elapsed
        self._turns += elapsed * len(self.ready)
        if limit is not None and elapsed > limit:
            return f"one call into the environment took {elapsed:.3g} s; the limit is {limit:g} s"
        total = self.cfg.limits.trial_s
        if total is not None and job.seconds > total:
            return f"the trial spent {job.seconds:.3g} s in its environment; the limit is {total:g} s"
        return None

    def in_time(self, slot: int, job: Job, elapsed: float) -> bool:
        """Add the seconds of a step; where they break a limit, end the attempt."""
        if elapsed > self._step_limit or job.seconds + elapsed > self._trial_limit:
            self.fault(slot, Outcome.TIMEOUT, self.overdue(job, elapsed, self.cfg.limits.step_s) or "")
            return False
        job.seconds += elapsed
        self._turns += elapsed * len(self.ready)
        return True

    # One world per slot -------------------------------------------------------------------------------------------

    def _begin(self, slot: int, place: Place) -> None:
        start, place.start = place.start, None
        assert start is not None
        self.pulse.begin(RESETTING, slot)
        try:
            env = self._env_for(place, start)
            runtime = self.runtime_for(start.trial.task, env)
            place.job = job = self.new_job(start, runtime)
            env.step_limit = runtime.max_steps + runtime.task.wait_steps
            observation = env.reset(start.trial.seed, start.trial.index)
            job.began(observation, env.constants())
            if job.wants_frame():
                job.film(env.render())
        except BREAKS as problem:
            self.pulse.end()
            self.fault(slot, Outcome.ENV_ERROR, explain(problem))
            return
        late = self.overdue(job, self.pulse.end(), self.cfg.limits.reset_s)
        if late:
            self.fault(slot, Outcome.TIMEOUT, late)
        else:
            self.go_on(slot, job)

    def _step(self, slot: int, place: Place, job: Job) -> None:
        action = job.next_action()
        if action is None:
            self.invalid(slot, job)
            return
        env = place.env
        assert env is not None
        self.pulse.begin(STEPPING, slot)
        try:
            if job.runtime.skips and job.unseen():
                job.took_step(env.step_unseen(action), seen=False)
            else:
                job.took_step(env.step(action))
            if job.video is not None and job.wants_frame():
                job.film(env.render())
        except BREAKS as problem:
            self.pulse.end()
            self.fault(slot, Outcome.ENV_ERROR, explain(problem))
            return
        self.made += 1
        if self.in_time(slot, job, self.pulse.end()):
            self.go_on(slot, job)

    def go_on(self, slot: int, job: Job) -> None:
        """With the next step of a trial, the next question, or its end."""
        if job.end is not None:
            self.finish(slot, job)
        elif job.has_action:
            self.ready.append(slot)
        else:
            self.ask(slot, job)

    def _env_for(self, place: Place, start: Start) -> Env:
        task = self.cfg.task_of(start.trial)
        fits = place.env is not None and place.task == task and (place.renders or not start.video)
        if not fits or not suites.suite_for(task).reusable:
            self._discard(place)
            env = suites.make_env(task, render=start.video, worlds=1)
            assert isinstance(env, Env)
            place.env, place.task, place.renders = env, task, start.video
        assert place.env is not None
        return place.env

    def _discard(self, place: Place) -> None:
        if place.env is not None:
            with suppress(*BREAKS):
                place.env.close()
        place.env = place.task = None

    # Slots and groups ---------------------------------------------------------------------------------------------

    def _job(self, slot: int) -> Job | None:
        if self._group is not None and slot in self._group.jobs:
            return self._group.jobs[slot]
        return self.places[slot].job

    def _release(self, slot: int) -> None:
        job = self._job(slot)
        if job is not None:
            job.wish = None
        self.places[slot].job = None
        if self._group is not None:
            self._group.release(slot)

    def _batch_for(self, task: str) -> BatchGroup:
        if self._group is None or self._group.task != task:
            for place in self.places:
                self._discard(place)
            if self._group is not None:
                self._group.close()
            self._group = BatchGroup(self, task, len(self.places))
        return self._group

    def _probe(self, name: str) -> None:
        task, render = self.cfg.tasks[name], self.cfg.record.level == "video"
        self.pulse.begin(RESETTING, 0)
        try:
            env = suites.make_env(task, render=render, worlds=len(self.places))
            runtime = TaskRuntime(self.cfg, task, env)
            worlds = env.num_worlds if isinstance(env, BatchEnv) else None
            own = env.max_steps or DEFAULT_MAX_STEPS
            limits = runtime.max_steps, own, runtime.dt_s
            info = TaskInfo(name, env.observation_space, env.action_space, *limits, worlds, env.dummy_action())
        except BREAKS as problem:
            self.emit(ProbeFailed(name, explain(problem)))
            return
        finally:
            self.pulse.end()
        self.emit(info)
        place = self.places[0]
        if isinstance(env, Env) and place.env is None:
            place.env, place.task, place.renders = env, task, render
        else:
            with suppress(*BREAKS):
                env.close()
