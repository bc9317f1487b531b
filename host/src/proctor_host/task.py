"""A task as a worker knows it: its config, and what its environment said of itself.

A worker makes it of the environment and tells the engine, which tells the other workers. Whether the seed of an
environment changes anything is found out by a pair of seeds that are run alike, and compared to the byte. Where it does
not, further trials of an agent that draws nothing repeat one episode, and count once.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field
from typing import Any, Mapping

import numpy as np

from proctor_host import spaces
from proctor_host.cfg import TaskCfg
from proctor_host.environments import BatchEnv, DeviceEnv, Env, SheetEnv
from proctor_host.layout import Layout, layout_of
from proctor_host.spaces import action_sampler

DEFAULT_MAX_STEPS = 1000


@dataclass(frozen=True, eq=False)
class Task:
    """`observation` and `action` describe the spaces. `dummy` is the action of a step that does nothing. `worlds` is
    the size of a batch environment, None for any other."""

    cfg: TaskCfg
    observation: spaces.Space
    action: spaces.Space
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
    attended: bool = False
    """Whether its environment says that a person must be there."""
    briefing: Mapping[str, Any] | None = None
    """What its environment tells agents."""
    device: str | None = None
    """Where its worlds are, for a `DeviceEnv`; None for any other."""
    exact: bool = True
    """For a `DeviceEnv`: whether it says that its trials are the same to the byte whatever their neighbours do."""
    layout: Layout | None = field(init=False)

    def __post_init__(self) -> None:
        if not isinstance(self.action, spaces.ARRAYS):
            shown = self.action.space if isinstance(self.action, spaces.Other) else self.action
            raise TypeError(
                f"action space {shown} is not supported: a policy returns arrays; wrap the environment so that its "
                "actions are a Box, Discrete, MultiDiscrete or MultiBinary"
            )
        dummy = np.broadcast_to(np.asarray(self.dummy, self.action.dtype), self.action_shape)
        object.__setattr__(self, "layout", layout_of(self.observation))
        object.__setattr__(self, "dummy", dummy)

    @classmethod
    def of(cls, cfg: TaskCfg, env: Any) -> Task:
        """The task of an environment. Raises ValueError where the environment contradicts itself."""
        own = int(env.max_steps or DEFAULT_MAX_STEPS)
        observation, action = spaces.described(env.observation_space), spaces.described(env.action_space)
        dt_s = None if env.action_dt_s is None else float(env.action_dt_s)
        if not isinstance(action, spaces.ARRAYS):
            return cls(cfg, observation, action)
        common = (cfg, observation, action, env.dummy_action(), cfg.max_steps or own, own, dt_s)
        if isinstance(env, BatchEnv):
            device, exact = (str(env.device), bool(env.exact)) if isinstance(env, DeviceEnv) else (None, True)
            task = cls(*common, worlds=int(env.num_worlds), device=device, exact=exact, briefing=env.briefing)
            if task.is_attended:
                raise ValueError("an operator looks after one world; this environment has several")
            return task
        assert isinstance(env, Env)
        sheet = isinstance(env, SheetEnv)
        skips, attended = bool(env.skips_observations), bool(env.attended)
        known = {"initial_states": env.initial_states, "attended": attended, "briefing": env.briefing}
        task = cls(*common, rows=sheet, skips=skips, **known)
        if isinstance(env, SheetEnv) and task.layout is not None:
            _check_sheet(env, task.layout)
        return task

    @property
    def name(self) -> str:
        return self.cfg.name

    @property
    def action_shape(self) -> tuple[int, ...]:
        return self.action.shape or ()

    @property
    def needs_reset(self) -> bool:
        """Whether an operator confirms each reset."""
        return self.attended or self.cfg.needs_reset == "confirm"

    @property
    def is_judged(self) -> bool:
        """Whether an operator says what success is."""
        return self.cfg.success_by == "operator"

    @property
    def is_attended(self) -> bool:
        """Whether its trials need an operator at all."""
        return self.needs_reset or self.is_judged

    def plain(self) -> dict[str, Any]:
        """What another worker must know beside the config: what `from_plain` reads."""
        found = {name: getattr(self, name) for name in _PLAIN}
        return {
            "name": self.name,
            "observation": self.observation.plain(),
            "action": self.action.plain(),
            "dummy": np.array(self.dummy),
            **found,
        }

    @classmethod
    def from_plain(cls, data: Mapping[str, Any], tasks: Mapping[str, TaskCfg]) -> Task:
        """`tasks`: the configs of a run by name."""
        seen, done = spaces.from_plain(data["observation"]), spaces.from_plain(data["action"])
        return cls(tasks[data["name"]], seen, done, data["dummy"], **{name: data[name] for name in _PLAIN})


_PLAIN = (
    "max_steps",
    "own_max_steps",
    "dt_s",
    "worlds",
    "rows",
    "skips",
    "initial_states",
    "attended",
    "device",
    "exact",
    "briefing",
)


def _check_sheet(env: SheetEnv, layout: Layout) -> None:
    """Raise ValueError where the rows of an environment do not hold what its observation space says."""
    for leaf in layout.leaves:
        cells = env.sheet.observation.get(leaf.path)
        found = None if cells is None else (cells.shape, cells.dtype)
        if found != (leaf.shape, leaf.dtype):
            has = "nothing" if found is None else f"{found[1]} {found[0]}"
            raise ValueError(f"the sheet has {has} for {leaf.label}; the observation space {leaf.dtype} {leaf.shape}")


SEEDS = (271_828, 314_159)
"""Far from those that trials have: an environment that breaks on some seed is left to the trial with that seed."""
STEPS = 50


def ignores_seed(env: Env, task: Task) -> bool:
    """Whether two seeds with their own indices begin alike, and go alike for some steps with the same actions. Raises
    what the environment raises."""
    env.step_limit = task.max_steps + task.cfg.wait_steps
    first = _seen(task, env.reset(SEEDS[0], 0))
    if _seen(task, env.reset(SEEDS[1], 1)) != first:
        return False
    there = _played(env, task)
    env.reset(SEEDS[0], 0)
    return _played(env, task) == there


def _played(env: Env, task: Task) -> list[Any]:
    """What an environment that was just reset gives for some actions, which are always the same."""
    sample, rng = action_sampler(task.action), np.random.default_rng(0)
    given = []
    for _ in range(min(STEPS, task.max_steps)):
        step = env.step(sample(rng))
        given.append((_seen(task, step.observation), step.reward, step.terminated, step.truncated, step.success))
        if step.terminated or step.truncated:
            break
    return given


def _seen(task: Task, observation: Any) -> bytes:
    if task.layout is None:
        return pickle.dumps(observation)
    return b"".join(leaf.tobytes() for leaf in task.layout.split(observation))
