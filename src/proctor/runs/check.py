"""Checking a config as far as that is possible without the run itself.

Two short runs on the real engine, with the workers that the config asks for: first a `zero` agent on every task (do
the environments work?), then every agent for a few steps (do shapes match, are actions valid?). Beside them: do a
policy's rows depend on their neighbours, does an environment carry something over a reset, and how long will the whole
run take.
"""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from proctor import suites
from proctor.config.code import module_folders
from proctor.config.models import AgentCfg, EvalConfig, LimitsCfg, RecordCfg, ScoringCfg, TaskCfg
from proctor.errors import BREAKS, InputError, RunError
from proctor.interpreters import search_last
from proctor.policies import loader_for, options_for
from proctor.policies.protocol import AnyPolicy, SpaceInfo
from proctor.policies.rows import rounded_otherwise, row_dependence, sample_batch
from proctor.record.rundir import file_name
from proctor.registry import SCORINGS
from proctor.rollout.engine import Engine
from proctor.rollout.hosted import load_anywhere
from proctor.rollout.trying import temporary_engine
from proctor.runs import places
from proctor.runs.bounded import Hung, Timed, bounded
from proctor.runs.conditions import CURE, inexact
from proctor.runs.session import log, logging_to
from proctor.runs.start import judging_problems
from proctor.runtimes import needed_for
from proctor.scoring import make_scoring
from proctor.spaces import in_a_line
from proctor.suites.protocol import Env
from proctor.threads import hold, pinned
from proctor_host.limits import ACTING, CLOSING, MAKING, RESETTING, STEPPING, UNLOADING
from proctor_host.output import NAME as OUTPUT
from proctor_host.result import TrialResult
from proctor_host.trials import Trial

STEPS = 25
ALONE = "its score shows the last bits of an answer, so its protocol asks a policy for one row at a time"


class _Asked(NamedTuple):
    """What agents are tried on: the tasks' spaces, and which tasks ask for one row at a time."""

    spaces: SpaceInfo
    alone: frozenset[str]


@dataclass
class Check:
    """What was found. `problems` stop a run or ruin its numbers; `warnings` are worth knowing."""

    problems: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    fine: list[str] = field(default_factory=list)
    seconds: float | None = None
    """How long the run would take if every episode went to its step limit."""
    steps: int = 0
    log: str | None = None
    """The file that has more of it, where one was kept."""

    @property
    def ok(self) -> bool:
        return not self.problems


def check(cfg: EvalConfig, config: str | None = None, log_file: Path | None = None) -> Check:
    """Everything that can be found out without the run itself. `config`: the file that it was read from, for
    sentences. `log_file`: where to write, beside what was found, tracebacks and what workers printed; its folder
    exists."""
    if log_file is None:
        with pinned():
            return _check(cfg, config)
    with logging_to(log_file):
        found = check(cfg, config)
        for level, lines in ((logging.INFO, found.fine), (logging.WARNING, found.warnings)):
            for line in lines:
                log.log(level, line)
        for line in found.problems:
            log.error(line)
    return replace(found, log=str(log_file))


def log_path(cfg: EvalConfig, now: datetime) -> Path:
    """Where a check of this config keeps its log: beside the runs."""
    return Path(cfg.output_root, "checks", f"{now:%Y%m%d-%H%M%S}_{file_name(cfg.name)}.log")


def _check(cfg: EvalConfig, config: str | None) -> Check:
    search_last(module_folders(cfg))
    found = Check(problems=judging_problems(cfg))
    judged = not found.problems
    if not judged:
        cfg = cfg.model_copy(update={"scoring": ScoringCfg()})
    placed = tuple(task for task in cfg.tasks if _is_placed(task, cfg, config, found))
    tasks = tuple(task.model_copy(update={"n_trials": 1}) for task in placed)
    record = RecordCfg(level=cfg.record.level)
    short = cfg.model_copy(update={"tasks": tasks, "n_trials": 1, "num_parallel": 1, "record": record})
    spaces, tried = _try_tasks(short, found)
    found.fine += [
        f'task "{name}": observation {in_a_line(seen)}, action {in_a_line(spaces.action[name])}'
        for name, seen in spaces.observation.items()
    ]
    if judged:
        _try_scoring(cfg, tried, found)
    sound = {r.trial.task for r in tried if r.outcome.scored}
    for task in [task for task in cfg.tasks if task.name in sound]:
        _look_for_carry_over(task, cfg, found)
    alone = frozenset(task.name for task in cfg.tasks if task.name in spaces.observation and suites.rows_alone(task))
    found.fine += [f'task "{task}": {ALONE}' for task in spaces.observation if task in alone]
    agents = tuple(agent for agent in cfg.agents if _loads(agent, _Asked(spaces, alone), cfg.limits, found))
    tasks = tuple(task for task in tasks if task.name in sound)
    if agents and tasks:
        _try_agents(cfg, short.model_copy(update={"agents": agents, "tasks": tasks}), found)
    return found


def _is_placed(task: TaskCfg, cfg: EvalConfig, config: str | None, found: Check) -> bool:
    """Whether the runtime that the task lives in can be used."""
    try:
        places.find(cfg.model_copy(update={"tasks": (task,)}), config)
    except InputError as error:
        found.problems += [] if str(error) in found.problems else [str(error)]
        return False
    return True


def _try_tasks(short: EvalConfig, found: Check) -> tuple[SpaceInfo, list[TrialResult]]:
    """The spaces of the tasks whose environments can be made, and a trial of a `zero` agent on each. A task that cannot
    be made keeps no other from being tried."""
    short = short.model_copy(update={"agents": (AgentCfg(name="zero", policy="zero"),)})
    while short.tasks:
        try:
            engine, tried = _short_run(short, found)
            return engine.spaces(), tried
        except (InputError, RunError) as error:
            log.info("environments could not be tried", exc_info=error)
            found.problems += str(error).splitlines()
            others = tuple(task for task in short.tasks if f'task "{task.name}"' not in str(error))
            short = short.model_copy(update={"tasks": others if len(others) < len(short.tasks) else ()})
    return SpaceInfo(), []


def _short_run(cfg: EvalConfig, found: Check) -> tuple[Engine, list[TrialResult]]:
    """A few steps of one trial per agent and task; what broke goes into `found`."""
    limits = cfg.limits.model_copy(update={"retries": 0})
    tasks = tuple(t.model_copy(update={"max_episode_steps": STEPS}) for t in cfg.tasks)
    cfg = cfg.model_copy(update={"limits": limits, "tasks": tasks})
    with temporary_engine(cfg) as engine:
        try:
            bounded(engine.run, engine.stuck)
        finally:
            _log_output(engine.folder / OUTPUT)
        results = list(engine.ledger.results())
    found.warnings += engine.unclosed
    for r in results:
        if r.error is not None:
            log.info("%s: %s: %s", r.trial.key, r.outcome, r.error)
            first_line = r.error.splitlines()[0]
            where = (
                f'agent "{r.trial.agent}" on task "{r.trial.task}"' if r.outcome.scored else f'task "{r.trial.task}"'
            )
            found.problems.append(f"{where}: {r.outcome}: {first_line}")
        if r.clipped_steps:
            clipped = f"{r.clipped_steps} of {r.steps_total} actions were clipped"
            found.warnings.append(f'agent "{r.trial.agent}" on task "{r.trial.task}": {clipped}')
    return engine, results


def _log_output(file: Path) -> None:
    """What workers printed, where a log is kept."""
    with contextlib.suppress(OSError):
        if printed := file.read_text(errors="replace").strip():
            log.info("workers printed:\n%s", printed)


def _try_scoring(cfg: EvalConfig, results: list[TrialResult], found: Check) -> None:
    """Does the scoring find what it reads? One of the user's own may have good reasons to fail on a trial that ended
    after a few steps: that is a warning only."""
    scoring = make_scoring(cfg.scoring)
    told = found.problems if cfg.scoring.mode in SCORINGS.names() else found.warnings
    for result in results:
        try:
            scoring.score(result)
        except BREAKS as error:
            told.append(f'task "{result.trial.task}": {_said(error)}')


def _said(error: BaseException) -> str:
    return str(error) if isinstance(error, InputError) else f"{type(error).__name__}: {error}"


def _loads(agent: AgentCfg, asked: _Asked, limits: LimitsCfg, found: Check) -> bool:
    spaces = asked.spaces
    try:
        policy = load_anywhere(agent, spaces)
        hold()
    except BREAKS as error:
        log.info('agent "%s" could not be loaded', agent.name, exc_info=error)
        text = _said(error)
        if spaces.action or isinstance(error, InputError):  # without a task, a policy has reasons of its own to fail
            found.problems.append(text if agent.name in text else f'agent "{agent.name}": {text}')
        return False
    timed = Timed(limits)
    try:
        found.warnings += bounded(lambda: list(_row_problems(agent, policy, asked, timed)), timed.stuck)
        bounded(lambda: timed.call(UNLOADING, policy.close), timed.stuck)
    except BREAKS as error:
        found.problems.append(f'agent "{agent.name}": {_said(error)}')
        return False
    return True


def _row_problems(agent: AgentCfg, policy: AnyPolicy, asked: _Asked, timed: Timed) -> Iterator[str]:
    pad_to = options_for(agent).pad_to
    if loader_for(agent.policy).row_by_row:
        return
    if pad_to is None:
        yield f'agent "{agent.name}": pad_to is null, so a trial\'s bytes may depend on which trials share its batch'
        return
    for task, space in asked.spaces.observation.items():
        trials = [Trial(agent.name, task, i, i) for i in range(pad_to)]
        try:
            batch = timed.call(ACTING, sample_batch, policy, space, trials)
            problem = timed.call(ACTING, row_dependence, policy, batch, partial(timed.begin, ACTING))
            others = task in asked.alone and timed.call(ACTING, rounded_otherwise, policy, batch)
        except BREAKS:
            continue  # the short run says what is wrong with it
        if problem is not None:
            yield f'agent "{agent.name}" on task "{task}": {problem}; its trials are not reproducible to the byte'
        if others:
            yield (
                f'agent "{agent.name}" on task "{task}": rows are computed {pad_to} at a time and are rounded '
                "otherwise than one alone; small differences grow on this task, so the score is not that of its "
                f"protocol, which asks for one row at a time; {CURE}"
            )


def _look_for_carry_over(task: TaskCfg, cfg: EvalConfig, found: Check) -> None:
    """Does the environment give the same episode again after it has been used? Not asked of one in a runtime."""
    if needed_for(task, suites.suite_for(task)) is not None:
        return
    if suites.is_batch(task) or suites.isolated(task.suite, task.options) or not suites.suite_for(task).reusable:
        return
    timed = Timed(cfg.limits)
    try:
        same = bounded(lambda: _twice_alike(task, cfg.seeds_of(task)[0], timed), timed.stuck)
    except Hung as error:
        found.problems.append(f'task "{task.name}": {error}')
        return
    except BREAKS as error:
        found.problems.append(f'task "{task.name}": it breaks under random actions: {_said(error)}')
        return
    if not same:
        found.warnings.append(
            f'task "{task.name}": the environment gives another episode for the same seed once it has been used; set '
            "`reuse: false` in its options if the suite has that, or mend its reset"
        )


def _twice_alike(task: TaskCfg, seed: int, timed: Timed) -> bool:
    env = timed.call(MAKING, partial(suites.make_env, task.suite, task.options, render=False, worlds=1))
    try:
        return _signature(env, seed, timed) == _signature(env, seed, timed)
    finally:
        timed.call(CLOSING, env.close)


def _signature(env: Env, seed: int, timed: Timed) -> list[bytes]:
    """Observations and rewards of a few steps with seeded random actions."""
    from proctor_host.layout import layout_of

    layout = layout_of(env.observation_space)
    env.action_space.seed(seed)

    def freeze(observation: object) -> bytes:
        leaves = layout.split(observation) if layout is not None else [np.array(repr(observation))]
        return b"".join(leaf.tobytes() for leaf in leaves)

    seen = [freeze(timed.call(RESETTING, env.reset, seed, 0))]
    for _ in range(STEPS):
        step = timed.call(STEPPING, env.step, env.action_space.sample())
        seen += [freeze(step.observation), repr(step.reward).encode()]
        if step.terminated or step.truncated:
            break
    return seen


def _try_agents(cfg: EvalConfig, short: EvalConfig, found: Check) -> None:
    short = short.model_copy(update={"agents": tuple(_as_many_as_worlds(agent, cfg) for agent in short.agents)})
    try:
        engine, results = _short_run(short, found)
    except (InputError, RunError) as error:
        log.info("agents could not be tried", exc_info=error)
        found.problems += str(error).splitlines()
        return
    healthy = [r for r in results if r.error is None and r.steps_total]
    found.fine += [f'agent "{r.trial.agent}" on task "{r.trial.task}": {r.steps_total} steps tried' for r in healthy]
    _tell_of_devices(cfg, engine, found)
    _estimate(cfg, engine, healthy, found)


def _as_many_as_worlds(agent: AgentCfg, cfg: EvalConfig) -> AgentCfg:
    """An agent whose forwards have as many rows as the run has slots; here there is one slot, so it has the default."""
    if agent.options.get("pad_to") != cfg.num_parallel:
        return agent
    return agent.model_copy(update={"options": {k: v for k, v in agent.options.items() if k != "pad_to"}})


def _tell_of_devices(cfg: EvalConfig, engine: Engine, found: Check) -> None:
    """Which way trials go on worlds of a device, and what equality holds there."""
    for task, said in engine.placed.get("worlds", {}).items():
        if not said["exact"]:
            found.warnings.append(inexact(task, f"{cfg.num_parallel} worlds on {said['device']}"))
    for agent, tasks in engine.placed.get("rounds", {}).items():
        for task, ways in tasks.items():
            if ways == ["device"]:
                found.fine.append(f'agent "{agent}" on task "{task}": trials go in device rounds')
            else:
                why = next(way for way in ways if way != "device")
                by_columns = f"trials go by columns, slower than device rounds, since {why}"
                found.warnings.append(f'agent "{agent}" on task "{task}": {by_columns}')


def _estimate(cfg: EvalConfig, engine: Engine, results: list[TrialResult], found: Check) -> None:
    """From the timed steps: environments step on all workers, forwards of one agent share batches."""
    env_s = forward_s = 0.0
    for r in results:
        steps = cfg.trials_of(cfg.task(r.trial.task)) * engine.max_steps(r.trial.task, cfg)
        stats = engine.batching[r.trial.agent].values()
        forward = sum(s.seconds for s in stats) / max(sum(s.forwards for s in stats), 1)
        assert r.wall_time_s is not None
        assert r.steps_total is not None
        per_step = max(r.wall_time_s / r.steps_total - forward, 1e-6)
        rows = min(options_for(cfg.agent(r.trial.agent)).pad_to or cfg.num_parallel, cfg.num_parallel)
        found.steps += steps
        env_s += steps * per_step
        forward_s += steps * forward / rows
    if results:
        inline = cfg.workers.kind == "inline"
        workers = 1 if inline else min(cfg.workers.count or os.cpu_count() or 1, cfg.num_parallel)
        found.seconds = max(env_s / workers, forward_s) + (0 if inline else 2.0)
