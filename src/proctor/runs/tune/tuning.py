"""`proctor tune`: measure, propose, and try the proposal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

from proctor.config.code import module_folders
from proctor.config.models import EvalConfig, WorkersCfg
from proctor.interpreters import search_last
from proctor.network.offer import tasks_of
from proctor.policies import loader_for, options_for
from proctor.runs.tune.measuring import CROWD, ForwardCost, ask_costs, env_seconds, forward_cost, run_rate, runner_of
from proctor.runs.tune.model import Costs, Settings, predict, propose
from proctor.threads import cores, pinned

SIZES = (1, 2, 4, 8, 16, 32, 64, 128)


@dataclass(frozen=True)
class TuneCfg:
    """`seconds`: for each measurement; all tasks together, each agent, and six short runs."""

    seconds: float = 2.0
    most_slots: int = 128


@dataclass(frozen=True)
class Rated:
    """Settings with steps per second: what the model says and why, and what a short run did."""

    settings: Settings
    predicted: float
    bound: str
    measured: float


@dataclass(frozen=True)
class Tuning:
    """What was found. Rates are steps per second over all agents and tasks."""

    env_s: dict[str, float]
    """Task -> seconds per step."""
    forwards: dict[str, ForwardCost]
    """By agent."""
    costs: Costs
    """What the predictions are made from."""
    current: Rated
    tried: list[Rated]

    @property
    def proposal(self) -> Rated:
        """The candidate that ran fastest."""
        return max(self.tried, key=lambda rated: rated.measured)

    @property
    def gain(self) -> float:
        """How many times as fast the proposal ran."""
        return self.proposal.measured / self.current.measured

    @property
    def worth_it(self) -> bool:
        """Whether the proposal ran faster than noise would."""
        return self.gain > 1.05

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "proposal": asdict(self.proposal), "gain": self.gain, "worth_it": self.worth_it}


def tune(cfg: EvalConfig, tuning: TuneCfg, tell: Callable[[str], None]) -> Tuning:
    """Measure and propose; `tell` hears what is being done. Raises InputError where something cannot be loaded."""
    with pinned():
        return _tune(cfg, tuning, tell)


def _tune(cfg: EvalConfig, tuning: TuneCfg, tell: Callable[[str], None]) -> Tuning:
    search_last(module_folders(cfg))
    spaces, tasks = tasks_of(cfg, cfg.agents[0])
    each = tuning.seconds / len(cfg.tasks)
    env_s = {}
    for task in cfg.tasks:
        tell(f'stepping the environment of task "{task.name}"')
        env_s[task.name] = env_seconds(task, cfg.seeds_of(task)[0], each, min(cfg.num_parallel, 16))
    forwards, sizes = {}, [size for size in SIZES if size <= tuning.most_slots]
    for agent in cfg.agents:
        tell(f'asking agent "{agent.name}"')
        with runner_of(agent, spaces) as runner:  # on the first task: forwards differ little from task to task
            forwards[agent.name] = forward_cost(runner, next(iter(tasks.values())), sizes, tuning.seconds)
    tell("sending observations through workers")
    available = cores()
    step_s = sum(env_s.values()) / len(env_s)
    steps = ask_costs(_enough_trials(cfg, CROWD), available, step_s, tuning.seconds)
    costs = _with_forwards(steps, cfg, forwards)

    def rate(settings: Settings, changed: EvalConfig) -> Rated:
        tell(f"a short run with {settings.workers or 'inline'} workers and {settings.num_parallel} slots")
        measured = run_rate(_enough_trials(changed, settings.num_parallel), tuning.seconds)
        return Rated(settings, *predict(costs, settings), measured)

    current = rate(current_settings(cfg, available), cfg)
    tried = [rate(settings, apply(cfg, settings)) for settings in propose(costs, _pad_to(cfg), tuning.most_slots)]
    return Tuning(env_s, forwards, costs, current, tried)


def _with_forwards(steps: Costs, cfg: EvalConfig, forwards: dict[str, ForwardCost]) -> Costs:
    """The costs of steps with those of forwards, of a run in which agents take turns: their means."""
    sizes = set.intersection(*(set(cost.seconds) for cost in forwards.values()))
    return replace(
        steps,
        forwards={n: sum(cost.seconds[n] for cost in forwards.values()) / len(forwards) for n in sorted(sizes)},
        horizon=sum(cost.horizon for cost in forwards.values()) / len(forwards),
        policy_on_cores=any(a.device == "cpu" and not loader_for(a.policy).row_by_row for a in cfg.agents),
    )


def current_settings(cfg: EvalConfig, available: int) -> Settings:
    """What the config says, with what it leaves open filled in."""
    workers = 0 if cfg.workers.kind == "inline" else min(cfg.workers.count or available, cfg.num_parallel)
    options = options_for(cfg.agents[0])
    return Settings(
        workers, cfg.num_parallel, options.max_batch or options.pad_to or cfg.num_parallel, options.max_wait_s
    )


def apply(cfg: EvalConfig, settings: Settings) -> EvalConfig:
    """The config with these settings."""
    workers = WorkersCfg(kind="inline") if settings.workers == 0 else WorkersCfg(kind="process", count=settings.workers)
    batching = {"max_batch": settings.max_batch, "max_wait_s": settings.max_wait_s}
    agents = tuple(agent.model_copy(update={"options": {**agent.options, **batching}}) for agent in cfg.agents)
    return cfg.model_copy(update={"workers": workers, "num_parallel": settings.num_parallel, "agents": agents})


def yaml_lines(cfg: EvalConfig, settings: Settings) -> list[str]:
    """The settings as lines of a config."""
    import yaml

    options = {"max_batch": settings.max_batch, "max_wait_s": settings.max_wait_s}
    lines = {
        "workers": settings.workers or "inline",
        "num_parallel": settings.num_parallel,
        "agents": [{"name": agent.name, "options": dict(options)} for agent in cfg.agents],
    }
    return yaml.safe_dump(lines, sort_keys=False).splitlines()


def _pad_to(cfg: EvalConfig) -> int | None:
    """The blocks that every agent's forwards fit into; None where none pads."""
    sizes = [pad_to for agent in cfg.agents if (pad_to := options_for(agent).pad_to) is not None]
    return max(sizes, default=None)


def _enough_trials(cfg: EvalConfig, slots: int) -> EvalConfig:
    """So many trials that a short run does not come to its end early; tasks with a known number keep theirs."""
    return cfg.model_copy(update={"n_trials": max(cfg.n_trials, 50 * slots), "seeds": None})
