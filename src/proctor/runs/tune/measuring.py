"""What things cost on this machine: a step, a forward of n rows, the way between worker and engine."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from proctor import suites
from proctor.config.models import AgentCfg, EvalConfig, RecordCfg, TaskCfg, WorkersCfg
from proctor.errors import InputError, RunError
from proctor.policies import options_for
from proctor.policies.protocol import SpaceInfo
from proctor.rollout.ask.decide import decide
from proctor.rollout.ask.requests import Request
from proctor.rollout.ask.runner import PolicyRunner
from proctor.rollout.hosted import load_anywhere
from proctor.rollout.progress import Progress
from proctor.rollout.tasks import Task
from proctor.rollout.trying import temporary_engine
from proctor.runs.tune.model import Costs
from proctor.suites.protocol import BatchEnv, Env
from proctor_host.messages import Chunk
from proctor_host.spaces import Sampler, action_sampler
from proctor_host.trials import Trial

ASKS, ROUNDS = 4, 3
"""A forward's cost is the mean of so many in a row, in the quickest of so many rounds: what else the machine does only
ever adds to it."""


@dataclass
class ForwardCost:
    """Of one agent. `seconds`: rows -> until every row has actions; `stages`: rows -> stage -> of which."""

    horizon: float = 1.0
    seconds: dict[int, float] = field(default_factory=dict)
    stages: dict[int, dict[str, float]] = field(default_factory=dict)


CROWD = 16
"""Slots of the runs that show what a message costs when there are many."""


# Environments ---------------------------------------------------------------------------------------------------------


def env_seconds(task: TaskCfg, seed: int, budget_s: float, worlds: int) -> float:
    """Seconds per step with random actions, resets included. Of a batch environment: per step of one world."""
    env = suites.make_env(task.suite, task.options, render=False, worlds=worlds)
    try:
        rng = np.random.default_rng(seed)
        sample = action_sampler(env.action_space)
        steps = _batch_steps(env, sample, rng) if isinstance(env, BatchEnv) else _steps(env, sample, rng, seed)
        next(steps)
        began, done = time.perf_counter(), 0
        while done == 0 or time.perf_counter() - began < budget_s:
            done += next(steps)
        return (time.perf_counter() - began) / done
    finally:
        env.close()


def _steps(env: Env, sample: Sampler, rng: np.random.Generator, seed: int) -> Iterator[int]:
    """Steps without end; each item is one."""
    ended, age, limit = True, 0, env.max_steps or 1000
    while True:
        if ended or age >= limit:
            env.reset(seed, 0)
            age = 0
        step = env.step(sample(rng))
        ended, age = bool(step.terminated or step.truncated), age + 1
        yield 1


def _batch_steps(env: BatchEnv, sample: Sampler, rng: np.random.Generator) -> Iterator[int]:
    """Steps of all worlds that still run; each item says of how many."""
    worlds = list(range(env.num_worlds))
    running: list[int] = []
    age, limit = 0, env.max_steps or 1000
    while True:
        if not running or age >= limit:
            env.reset(worlds, worlds, [0] * len(worlds))
            running, age = worlds, 0
        steps = env.step({world: sample(rng) for world in running})
        yield len(running)
        running, age = [w for w in running if not (steps[w].terminated or steps[w].truncated)], age + 1


# Forwards -------------------------------------------------------------------------------------------------------------


@contextmanager
def runner_of(agent: AgentCfg, spaces: SpaceInfo) -> Iterator[PolicyRunner]:
    """The agent's policy as a run would use it."""
    policy, options = load_anywhere(agent, spaces), options_for(agent)
    try:
        yield PolicyRunner.of(policy, options)
    finally:
        policy.close()


def forward_cost(runner: PolicyRunner, task: Task, sizes: list[int], budget_s: float) -> ForwardCost:
    """For batches of these sizes, smallest first, until the time is used up (one size is always measured)."""
    cost, began = ForwardCost(), time.perf_counter()
    for rows in sizes:
        walk = _Walk(runner, task, rows)
        walk.ask()
        rounds = [walk.timed() for _ in range(ROUNDS)]
        cost.seconds[rows], cost.stages[rows] = min(rounds, key=lambda timed: timed[0])
        cost.horizon = walk.actions / walk.answers
        if time.perf_counter() - began > budget_s:
            break
    return cost


class _Walk:
    """Trials in step with each other, on observations drawn from their space."""

    def __init__(self, runner: PolicyRunner, task: Task, rows: int):
        self.runner = runner
        trials = [Trial("tune", task.name, i, i) for i in range(rows)]
        self.requests = [Request(None, trial, task, runner.first_stage) for trial in trials]
        task.observation_space.seed(0)
        drawn = task.observation_space.sample()
        observation = drawn if task.layout is None else task.layout.split(drawn)
        for request in self.requests:
            request.show(observation)
        self.spent: dict[str, float] = {}
        self.actions = self.answers = 0

    def timed(self) -> tuple[float, dict[str, float]]:
        """Seconds of one ask, and of each stage in it."""
        self.spent = {}
        began = time.perf_counter()
        for _ in range(ASKS):
            self.ask()
        seconds = (time.perf_counter() - began) / ASKS
        return seconds, {stage: spent / ASKS for stage, spent in self.spent.items()}

    def ask(self) -> None:
        """Until every trial has actions. Raises InputError where the policy gives none."""
        waiting = self.requests
        while waiting:
            by_stage: dict[str, list[Request]] = {}
            for request in waiting:
                by_stage.setdefault(request.stage, []).append(request)
            waiting = [late for stage, requests in by_stage.items() for late in self._forward(stage, requests)]

    def _forward(self, stage: str, waiting: list[Request]) -> list[Request]:
        """One forward for the trials that wait for a stage; those that still have no actions."""
        requests = [request.ask(0, 0.0) for request in waiting]
        began = time.perf_counter()
        answers = self.runner.answers(stage, requests)
        self.spent[stage] = self.spent.get(stage, 0.0) + time.perf_counter() - began
        acting, chunks, asking, ended = decide(answers)
        for ending in ended:
            raise InputError(f"the policy gives no actions: {ending.error.splitlines()[0]}; see proctor check")
        self.actions += sum(len(chunk.actions if isinstance(chunk, Chunk) else chunk) for chunk in chunks)
        self.answers += len(acting)
        return asking


# Runs -----------------------------------------------------------------------------------------------------------------


def run_rate(cfg: EvalConfig, seconds: float) -> float:
    """Steps per second of a real run under these settings, stopped after so many seconds of running. Nothing is kept.
    Raises RunError where not a step was made."""
    record = RecordCfg(level="series" if cfg.record.level == "video" else cfg.record.level)
    cfg = cfg.model_copy(update={"record": record, "stop_when": None})
    with temporary_engine(cfg) as engine:
        marks: list[tuple[float, int]] = []

        def look(progress: Progress) -> None:
            if progress.phase == "running" and progress.steps > 0:
                marks.append((progress.seconds, progress.steps))
                if marks[-1][0] - marks[0][0] > seconds:
                    engine.cancel.cancel()

        engine.observer = look
        began = time.perf_counter()
        progress = engine.run()
        whole = time.perf_counter() - began
    if progress.steps == 0:
        raise RunError("a short run made no step at all; proctor check says what is wrong")
    if len(marks) > 1 and marks[-1][1] > marks[0][1]:
        (first_at, first), (last_at, last) = marks[0], marks[-1]
        return (last - first) / (last_at - first_at)
    return progress.steps / whole


def ask_costs(cfg: EvalConfig, cores: int, step_s: float, seconds: float) -> Costs:
    """The costs of steps of `step_s` and of asks, without those of forwards: from three short runs whose agent does
    nothing. With many slots in one process, only the engine's work is added; one slot in one worker process waits for
    every answer; with many slots in as many worker processes as there are cores, all of these are busy."""
    idle = cfg.model_copy(update={"agents": (AgentCfg(name="zero", policy="zero"),)})

    def measured(workers: WorkersCfg, slots: int) -> float:
        return 1.0 / run_rate(idle.model_copy(update={"workers": workers, "num_parallel": slots}), seconds)

    inline = measured(WorkersCfg(kind="inline"), CROWD)
    lone = measured(WorkersCfg(kind="process", count=1), 1)
    crowded = measured(WorkersCfg(kind="process", count=cores), max(CROWD, cores))
    engine_s, transfer_s, message_s = (max(spent - step_s, 0.0) for spent in (inline, lone, cores * crowded))
    return Costs(step_s, {}, engine_s=engine_s, transfer_s=transfer_s, message_s=message_s, cores=cores)
