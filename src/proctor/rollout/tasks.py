"""A task as the engine, its workers, servers and `tune` know it: its config, and what its environment said of itself.

There is one such object for a task. A worker makes it of the environment and sends it to the engine; everything that
follows from the spaces (how observations lie in memory, how actions are checked) is worked out here, once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from proctor.config.models import TaskCfg
from proctor.policies.protocol import SpaceInfo
from proctor.rollout.ask.actions import ActionChecker
from proctor_host.layout import Layout, layout_of
from proctor.suites.protocol import BatchEnv, Env, SheetEnv

DEFAULT_MAX_STEPS = 1000


@dataclass(frozen=True, eq=False)
class Task:
    """`dummy` is the action of a step that does nothing. `worlds` is the size of a batch environment, None for any
    other. Requests of tasks with equal `key` may share a forward."""

    cfg: TaskCfg
    observation_space: Any
    action_space: Any
    dummy: Any = 0
    max_steps: int = DEFAULT_MAX_STEPS
    own_max_steps: int = DEFAULT_MAX_STEPS
    """The step limit where no config sets one."""
    dt_s: float | None = None
    worlds: int | None = None
    rows: bool = False
    """Whether its environments write steps as rows of numbers."""
    skips: bool = False
    """Whether steps that nobody looks at save work."""
    initial_states: int | None = None
    """How many there are, where that is known."""
    layout: Layout | None = field(init=False)
    checker: ActionChecker = field(init=False)
    key: str = field(init=False)

    def __post_init__(self) -> None:
        layout = layout_of(self.observation_space)
        checker = ActionChecker(self.action_space, clip=self.cfg.out_of_range == "clip")
        object.__setattr__(self, "layout", layout)
        object.__setattr__(self, "checker", checker)
        object.__setattr__(self, "dummy", np.broadcast_to(np.asarray(self.dummy, checker.dtype), checker.shape))
        object.__setattr__(self, "key", f"{self.name if layout is None else layout} {checker.shape}")

    @classmethod
    def of(cls, cfg: TaskCfg, env: Env | BatchEnv, max_steps: int | None = None) -> Task:
        """The task of an environment. `max_steps` is the run's limit, which the task's own config overrides. Raises
        ValueError where the environment contradicts itself."""
        own = env.max_steps or DEFAULT_MAX_STEPS
        limit = cfg.max_episode_steps or max_steps or own
        common = (cfg, env.observation_space, env.action_space, env.dummy_action(), limit, own, env.action_dt_s)
        if isinstance(env, BatchEnv):
            return cls(*common, worlds=env.num_worlds)
        task = cls(
            *common, rows=isinstance(env, SheetEnv), skips=env.skips_observations, initial_states=env.initial_states
        )
        if isinstance(env, SheetEnv) and task.layout is not None:
            _check_sheet(env, task.layout)
        return task

    @property
    def name(self) -> str:
        return self.cfg.name


def _check_sheet(env: SheetEnv, layout: Layout) -> None:
    """Raise ValueError where the rows of an environment do not hold what its observation space says."""
    for leaf in layout.leaves:
        cells = env.sheet.observation.get(leaf.path)
        found = None if cells is None else (cells.shape, cells.dtype)
        if found != (leaf.shape, leaf.dtype):
            has = "nothing" if found is None else f"{found[1]} {found[0]}"
            raise ValueError(f"the sheet has {has} for {leaf.label}; the observation space {leaf.dtype} {leaf.shape}")


def spaces_of(tasks: Iterable[Task], briefings: dict[str, Callable[[], Any]]) -> SpaceInfo:
    """What loaders are told of these tasks."""
    known = list(tasks)
    observation = {task.name: task.observation_space for task in known}
    return SpaceInfo(observation, {task.name: task.action_space for task in known}, briefings)
