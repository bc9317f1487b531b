"""A task as the engine, servers and `tune` know it: its config, what its environment said of itself, and what follows
from that for policies: spaces, how actions are checked, what may share a forward.

A worker describes the task (`proctor_host.task`), in whatever interpreter it lives; what it is told of the run and its
tasks is made here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from proctor import suites
from proctor.config.models import EvalConfig, LimitsCfg, RecordCfg, TaskCfg
from proctor.policies.protocol import SpaceInfo
from proctor.rollout.ask.actions import ActionChecker
from proctor.spaces import to_gymnasium
from proctor.suites.protocol import BatchEnv, Env
from proctor_host import cfg as plain
from proctor_host import task as described
from proctor_host.cfg import TaskCfg as PlainTask


class Task:
    """`inside` is what its workers know. Requests of tasks with equal `key` may share a forward."""

    def __init__(self, inside: described.Task):
        self.inside, self.name = inside, inside.name
        self.observation_space, self.action_space = to_gymnasium(inside.observation), to_gymnasium(inside.action)
        self.layout, self.dummy = inside.layout, inside.dummy
        self.max_steps, self.own_max_steps = inside.max_steps, inside.own_max_steps
        self.worlds, self.initial_states = inside.worlds, inside.initial_states
        self.checker = ActionChecker(self.action_space, clip=inside.cfg.out_of_range == "clip")
        self.key = f"{self.name if self.layout is None else self.layout} {self.checker.shape}"

    @classmethod
    def of(cls, cfg: TaskCfg, env: Env | BatchEnv, max_steps: int | None = None) -> Task:
        """The task of an environment that was made here. `max_steps` is the run's limit, which the task's own config
        overrides. Raises ValueError where the environment contradicts itself."""
        return cls(described.Task.of(plain_task(cfg, max_steps), env))

    def beginning_alike(self) -> Task:
        """The same task, of which it is now known that its trials all begin in one state."""
        return Task(replace(self.inside, initial_states=1))


def plain_task(cfg: TaskCfg, max_steps: int | None) -> PlainTask:
    """What a worker is told of a task. `max_steps` is the run's limit."""
    suite = suites.suite_for(cfg)
    return PlainTask(
        name=cfg.name,
        suite=cfg.suite,
        options=cfg.options,
        environment=suite.environment,
        max_steps=cfg.max_episode_steps or max_steps,
        wait_steps=cfg.wait_steps,
        success_rule=cfg.success_rule,
        stop_on_success=cfg.stop_on_success,
        nan_observations=cfg.nan_observations,
        out_of_range=cfg.out_of_range,
        reusable=suite.reusable,
        seeds_matter=suite.seeds_matter,
        needs_reset=cfg.needs_reset,
        success_by=cfg.success_by,
    )


def spaces_of(tasks: Iterable[Task], briefings: dict[str, Callable[[], Any]]) -> SpaceInfo:
    """What loaders are told of these tasks: what an environment says of itself goes before what its suite says."""
    known = list(tasks)
    told = {task.name: task.inside.briefing for task in known if task.inside.briefing is not None}
    briefings = {**briefings, **{name: partial(told.get, name) for name in told}}
    observation = {task.name: task.observation_space for task in known}
    return SpaceInfo(observation, {task.name: task.action_space for task in known}, briefings)


def worker_cfg(cfg: EvalConfig, folder: Path) -> plain.WorkerCfg:
    """A run's config as its workers need it."""
    return plain.WorkerCfg(
        folder=str(folder),
        tasks={task.name: plain_task(task, cfg.max_episode_steps) for task in cfg.tasks},
        record=replace(plain_record(cfg.record), processes=cfg.workers.records),
        limits=plain_limits(cfg.limits),
        metrics=tuple(cfg.scoring.metrics),
        brought={agent.name: agent.task_options for agent in cfg.agents if agent.task_options},
    )


def plain_limits(limits: LimitsCfg) -> plain.LimitsCfg:
    return plain.LimitsCfg(limits.step_s, limits.reset_s, limits.trial_s, limits.act_s)


def plain_record(record: RecordCfg) -> plain.RecordCfg:
    video = record.video
    return plain.RecordCfg(
        series=record.level != "summary",
        observations=record.observations,
        states=record.states,
        films=record.level == "video",
        every=video.every,
        fps=video.fps,
        keep_successes=video.trials != "failures",
    )
