"""A stand-in for what the suite `mjlab` uses of mjlab: a point on a line, many worlds in one tensor.

It does what the real one (1.6.0) was seen to do, unpleasant things included: random numbers come from torch's global
generator for all worlds that need some; `startup` events are drawn once, for all; a partial reset computes the
observations of all worlds, noise too; a reward with a memory is not cleared by a reset; ended worlds must be reset
before the next step where `auto_reset` is off, and are reset within the step, before the observation, where it is on;
the simulator's mean inertia is that of world 0 where there is one for all, and its sums are split by how many worlds
there are.
`installed(...)` puts it in the place of the package.
"""

from __future__ import annotations

import contextlib
import copy
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import torch

DT, FAR = 0.05, 1.5
PARTS = torch.tensor([0.1, 1e4, -1e4, 0.3, 0.7, 1e-3, 1e3, -1e3])
"""Numbers whose sum depends on the order."""
SOLVER, WARP = ModuleType("mujoco_warp._src.solver"), ModuleType("warp")


@dataclass
class Term:
    func: Any = None
    params: dict[str, Any] = field(default_factory=dict)
    noise: Any = None
    weight: float = 1.0
    mode: str = "reset"
    min_step_count_between_reset: int = 0
    is_global_time: bool = False
    time_out: bool = False
    scale: Any = None
    clip: tuple[float, float] | None = None
    history_length: int = 0


@dataclass
class Group:
    terms: dict[str, Term]
    enable_corruption: bool = False
    concatenate_terms: bool = True


@dataclass
class Scene:
    num_envs: int = 1
    env_spacing: float = 2.0
    terrain: Any = None


@dataclass
class Command:
    resampling_time_range: tuple[float, float] = (0.1, 0.3)
    reach: float = 0.5


@dataclass
class Viewer:
    max_extra_envs: int = 2


@dataclass
class Config:
    scene: Scene = field(default_factory=Scene)
    observations: dict[str, Group] = field(default_factory=dict)
    events: dict[str, Term] = field(default_factory=dict)
    commands: dict[str, Command] = field(default_factory=dict)
    curriculum: dict[str, Any] = field(default_factory=lambda: {"harder": 1})
    rewards: dict[str, Term] = field(default_factory=dict)
    terminations: dict[str, Term] = field(default_factory=dict)
    viewer: Viewer = field(default_factory=Viewer)
    seed: int | None = None
    episode_length_s: float = 1.0
    auto_reset: bool = True
    scale_rewards_by_dt: bool = True


class Warp(np.ndarray):
    """An array of the simulator's."""

    def __new__(cls, size: int) -> Warp:
        return np.ones(size, np.float32).view(cls)

    def numpy(self) -> np.ndarray:
        return np.array(self)


class Highest:
    """A reward with a memory that no reset clears."""

    def __init__(self, env: Any):
        self.peak = torch.zeros(env.num_envs)

    def __call__(self, env: Any) -> torch.Tensor:
        self.peak = torch.maximum(self.peak, env.x.abs())
        return self.peak


class Friction:
    """A start-up event: drawn for the worlds that it is told, else for all."""

    def __call__(self, env: Any, env_ids: Any) -> None:
        ids = torch.arange(env.num_envs) if env_ids is None else env_ids
        env.friction[ids] = torch.rand(len(ids))
        inertia = env.sim.wp_model.stat.meaninertia
        inertia[:] = 1 + env.friction.numpy()[: len(inertia)]


def config(play: bool) -> Config:
    """Of the task `Double-Point`: in play without noise and pushes, and without an end."""
    groups = {
        "actor": Group({"x": Term(noise="uniform"), "target": Term()}, enable_corruption=not play),
        "critic": Group({"x": Term(), "friction": Term()}, concatenate_terms=False),
    }
    events = {"friction": Term(func=Friction(), mode="startup"), "start": Term(func=start, mode="reset")}
    if not play:
        events["push"] = Term(func=push, mode="interval", is_global_time=True)
    endings = {"time_out": Term(time_out=True), "far": Term()}
    cfg = Config(observations=groups, events=events, commands={"target": Command()}, terminations=endings)
    cfg.rewards = {"near": Term(func=near), "highest": Term(func=Highest, weight=-0.1)}
    cfg.episode_length_s = 1e9 if play else 1.0
    return cfg


def start(env: Any, env_ids: Any) -> None:
    env.x[env_ids] = env.origins[env_ids] + torch.rand(len(env_ids)) * 0.2


def push(env: Any, env_ids: Any) -> None:
    env.x += torch.randn(env.num_envs) * 0.01


def near(env: Any) -> torch.Tensor:
    return torch.exp(-((env.x - env.command.target) ** 2))


class TargetCommand:
    def __init__(self, cfg: Command, env: Any):
        self.cfg, self.env = cfg, env
        self.target, self.time_left = torch.zeros(env.num_envs), torch.zeros(env.num_envs)

    @property
    def command(self) -> torch.Tensor:
        return self.target[:, None]

    def compute_success(self) -> torch.Tensor:
        return (self.env.x - self.target).abs() < 0.1

    def _resample(self, env_ids: Any) -> None:
        if len(env_ids):
            self.time_left[env_ids] = self.time_left[env_ids].uniform_(*self.cfg.resampling_time_range)
            self.target[env_ids] = torch.empty(len(env_ids)).uniform_(-self.cfg.reach, self.cfg.reach)

    def compute(self, dt: float, env_ids: Any = None) -> None:
        self.time_left[slice(None) if env_ids is None else env_ids] -= dt
        due = (self.time_left <= 0).nonzero().flatten()
        self._resample(due if env_ids is None else due[torch.isin(due, env_ids)])


class Events:
    def __init__(self, env: Any, cfg: dict[str, Term]):
        self.env, self.cfg, self.active_terms = env, cfg, {}
        for name, term in cfg.items():
            self.active_terms.setdefault(term.mode, []).append(name)

    @property
    def available_modes(self) -> list[str]:
        return list(self.active_terms)

    def get_term_cfg(self, name: str) -> Term:
        return self.cfg[name]

    def apply(self, mode: str, env_ids: Any = None) -> None:
        for name in self.active_terms.get(mode, ()):
            self.cfg[name].func(self.env, env_ids)


class ManagerBasedRlEnv:
    """The class of mjlab's environments, as far as it is used."""

    def __init__(self, cfg: Config, device: str, render_mode: str | None = None):
        assert cfg.seed is not None, "the real one would draw a seed"
        torch.manual_seed(cfg.seed)
        self.cfg, self.device, self.render_mode = cfg, device, render_mode
        n = self.num_envs = cfg.scene.num_envs
        self.step_dt, self.common_step_counter = DT, 0
        self.max_episode_length = int(np.ceil(cfg.episode_length_s / DT))
        self.origins = torch.arange(n) * cfg.scene.env_spacing
        self.x, self.friction, self.steps = torch.zeros(n), torch.zeros(n), torch.zeros(n, dtype=torch.long)
        self._manual_reset_pending = torch.zeros(n, dtype=torch.bool)
        self.command = TargetCommand(cfg.commands["target"], self)
        self._offline_renderer = None if render_mode is None else SimpleNamespace(_env_ids=None)
        self.sim = SimpleNamespace(wp_model=SimpleNamespace(stat=SimpleNamespace()), create_graph=lambda: None)
        self.sim.wp_model.stat.meaninertia = Warp(1)
        self.scene = SimpleNamespace(terrain=None, entities={}, env_origins=torch.zeros(n, 3))
        self._make_managers()
        self.event_manager.apply(mode="startup")

    def _make_managers(self) -> None:
        cfg, n = self.cfg, self.num_envs
        for term in cfg.rewards.values():
            term.func = term.func(self) if isinstance(term.func, type) else term.func
        dones = {name: torch.zeros(n, dtype=torch.bool) for name in cfg.terminations}
        terms = {group: list(found.terms) for group, found in cfg.observations.items()}
        one = SimpleNamespace(shape=(1,))
        joined: dict[str, Any] = {}
        for name, found in cfg.observations.items():
            apart = SimpleNamespace(spaces=dict.fromkeys(found.terms, one))
            joined[name] = SimpleNamespace(shape=(2,)) if found.concatenate_terms else apart
        self.single_observation_space, self.single_action_space = SimpleNamespace(spaces=joined), one
        self.event_manager = Events(self, cfg.events)
        self.metrics_manager = SimpleNamespace(cfg=None, active_terms=["speed"], _step_values=torch.zeros(n, 1))
        self.action_manager = SimpleNamespace(active_terms=["push"], get_term=lambda _: SimpleNamespace())
        self.command_manager = SimpleNamespace(
            active_terms=["target"], get_term=lambda _: self.command, get_command=lambda _: self.command.command
        )
        self.reward_manager = SimpleNamespace(
            active_terms=list(cfg.rewards), get_term_cfg=cfg.rewards.get, _step_reward=torch.zeros(n, len(cfg.rewards))
        )
        self.termination_manager = SimpleNamespace(
            active_terms=list(dones), get_term_cfg=cfg.terminations.get, get_term=dones.get, terminated=dones["far"]
        )
        self.observation_manager = SimpleNamespace(
            active_terms=terms,
            get_term_cfg=lambda group, name: cfg.observations[group].terms[name],
            group_obs_concatenate={name: found.concatenate_terms for name, found in cfg.observations.items()},
            group_obs_term_dim={name: [(1,)] * len(found) for name, found in terms.items()},
        )

    def _observe(self) -> dict[str, Any]:
        columns = {"x": self.x, "target": self.command.target, "friction": self.friction}
        found: dict[str, Any] = {}
        for name, group in self.cfg.observations.items():
            terms = {term: columns[term][:, None].clone() for term in group.terms}
            for term, cfg in group.terms.items():
                if cfg.noise and group.enable_corruption:
                    terms[term] += torch.rand_like(terms[term]) * 0.01
            found[name] = torch.cat(list(terms.values()), 1) if group.concatenate_terms else terms
        return found

    def _reset(self, env_ids: torch.Tensor) -> None:
        self.event_manager.apply(mode="reset", env_ids=env_ids)
        self.command._resample(env_ids)
        self.steps[env_ids] = 0
        self._manual_reset_pending[env_ids] = False

    def reset(self, *, env_ids: torch.Tensor | None = None) -> tuple[dict[str, Any], dict[str, Any]]:
        ids = torch.arange(self.num_envs) if env_ids is None else env_ids
        self._reset(ids)
        self.command.compute(0.0, ids)
        return self._observe(), {}

    def step(self, action: torch.Tensor) -> tuple[Any, ...]:
        if self._manual_reset_pending.any():
            raise RuntimeError(f"Environments {self._manual_reset_pending.nonzero().flatten().tolist()} must be reset")
        inertia = torch.from_numpy(np.array(self.sim.wp_model.stat.meaninertia)).expand(self.num_envs)
        groups = SOLVER._jtdaj_groups_per_world(self.num_envs, len(PARTS))
        drift = sum(part.sum() for part in PARTS.tensor_split(groups)) * 0.1
        self.x += (action[:, 0] + drift) * DT * (1 - 0.5 * self.friction) / inertia
        self.steps += 1
        self.common_step_counter += 1
        timed_out, far = self.steps >= self.max_episode_length, (self.x - self.origins).abs() > FAR
        self.termination_manager.get_term("time_out")[:], self.termination_manager.get_term("far")[:] = timed_out, far
        terms = [term.func(self) * term.weight for term in self.cfg.rewards.values()]
        self.reward_manager._step_reward[:] = torch.stack(terms, 1)
        self.metrics_manager._step_values[:, 0] = action[:, 0].abs()
        self.event_manager.apply(mode="interval")
        ended = timed_out | far
        if self.cfg.auto_reset and ended.any():
            self._reset(ended.nonzero().flatten())
        self.command.compute(DT)
        if not self.cfg.auto_reset:
            self._manual_reset_pending |= ended
        return self._observe(), self.reward_manager._step_reward.sum(1) * DT, far, timed_out, {}

    def render(self) -> np.ndarray:
        assert self._offline_renderer is not None
        (world,) = self._offline_renderer._env_ids
        return np.full((4, 6, 3), int(abs(float(self.x[world])) * 100) % 256, np.uint8)

    def close(self) -> None:
        pass


@contextlib.contextmanager
def installed() -> Iterator[None]:
    """The double in the place of mjlab."""
    configs = {("Double-Point", play): config(play) for play in (False, True)}
    registry = ModuleType("mjlab.tasks.registry")
    registry.list_tasks = lambda: ["Double-Point"]  # pyright: ignore[reportAttributeAccessIssue]
    registry.load_env_cfg = lambda task, play=False: copy.deepcopy(configs[task, play])  # pyright: ignore[reportAttributeAccessIssue]
    envs = ModuleType("mjlab.envs")
    envs.ManagerBasedRlEnv = ManagerBasedRlEnv  # pyright: ignore[reportAttributeAccessIssue]
    modules = {"mjlab": ModuleType("mjlab"), "mjlab.tasks": ModuleType("mjlab.tasks")}
    modules |= {"mjlab.tasks.registry": registry, "mjlab.envs": envs, "mujoco_warp": ModuleType("mujoco_warp")}
    modules |= {"mujoco_warp._src": ModuleType("mujoco_warp._src"), "mujoco_warp._src.solver": SOLVER, "warp": WARP}
    SOLVER._jtdaj_groups_per_world = lambda nworld, njmax: max(1, njmax // nworld)  # pyright: ignore
    WARP.array = lambda values, dtype, device: values.astype(np.float32).view(Warp)  # pyright: ignore
    before = {name: sys.modules.get(name) for name in modules}
    sys.modules.update(modules)
    try:
        yield
    finally:
        for name, module in before.items():
            if module is None:
                sys.modules.pop(name, None)
            else:
                sys.modules[name] = module
