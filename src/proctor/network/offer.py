"""What it takes to serve an agent: its tasks' spaces, its policy, a greeting, and a front."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any

from proctor import suites, threads
from proctor.config.code import module_folders
from proctor.config.models import AgentCfg, EvalConfig, TaskCfg
from proctor.errors import BREAKS, InputError
from proctor.interpreters import search_last
from proctor.network import fields
from proctor.network.desk import AgentDesk, Callers
from proctor.network.front import FrontCfg, serve
from proctor.network.presets import Naming, preset_named
from proctor.network.pump import Pump
from proctor.policies import fingerprint, options_for
from proctor.policies.protocol import SpaceInfo
from proctor.registry import did_you_mean
from proctor.rollout.ask.decide import decide
from proctor.rollout.ask.requests import Request
from proctor.rollout.ask.runner import PolicyRunner
from proctor.rollout.hosted import load_anywhere
from proctor.rollout.tasks import Task, spaces_of
from proctor.spaces import entries_of
from proctor_host import spaces as described
from proctor_host.messages import Chunk
from proctor_host.trials import Trial


@dataclass(frozen=True)
class ServeCfg:
    """Which agent (None: the only one), where, and how its forwards are batched (None: as its options say)."""

    agent: str | None = None
    front: FrontCfg = field(default_factory=FrontCfg)
    max_batch: int | None = None
    max_wait_s: float | None = None
    most_trials: int = 1024
    """Trials that are remembered at once."""
    keys: str | None = None
    """A key preset: callers send what it names. None: every entry, as `observation/NAME`."""


def serve_agent(cfg: EvalConfig, serving: ServeCfg, ready: Callable[[str], None]) -> None:
    """Serve until SIGINT or SIGTERM; `ready` gets the address. Raises InputError for what the user can mend."""
    search_last(module_folders(cfg))
    with threads.pinned():
        _serve(Offer(cfg, serving), ready)


def _serve(offer: Offer, ready: Callable[[str], None]) -> None:
    async def until_told() -> None:
        import signal

        stop, loop = asyncio.Event(), asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stop.set)
        await offer.serve(stop, ready)

    try:
        asyncio.run(until_told())
    finally:
        offer.close()


class Offer:
    """A loaded agent, ready to be served. Close it at the end."""

    def __init__(self, cfg: EvalConfig, serving: ServeCfg):
        self.serving = serving
        agent = choose_agent(cfg, serving.agent)
        naming = Naming() if serving.keys is None else Naming.of(preset_named(serving.keys))
        self.spaces, tasks = tasks_of(cfg, agent, naming)
        wanted = {"max_batch": serving.max_batch, "max_wait_s": serving.max_wait_s}
        options = options_for(agent).model_copy(update={k: v for k, v in wanted.items() if v is not None})
        self.pump = Pump(agent.name, partial(load_anywhere, agent, self.spaces), options, cfg.limits.act_s)
        runner = self.pump.runtime.runner
        chunks = [_first_chunk(runner, task) for task in tasks.values()]
        metadata = {
            fields.ANNOUNCED: fields.VERSION,
            "agent": agent.name,
            "fingerprint": sorted(fingerprint(agent).values()),
            "pad_to": options.pad_to,
            "threads": threads.wanted(),
            "base_seed": cfg.base_seed,
            "stages": [stage.name for stage in runner.stages],
            "chunk": next((chunk for chunk in chunks if chunk is not None), None),
            "tasks": {name: _described(self.spaces, name, naming) for name in tasks},
        }
        several = tasks if naming.words is not None and len(tasks) > 1 else ()
        worded = {self.spaces.instruction(name, {}) or "": name for name in reversed(several)}
        self.desk = AgentDesk(self.pump, tasks, metadata, Callers(naming, worded), serving.most_trials)

    async def serve(self, stop: asyncio.Event, ready: Callable[[str], None]) -> None:
        """Until `stop` is set."""
        watch = asyncio.create_task(self.pump.watch())
        try:
            await serve(self.desk, self.serving.front, stop, ready)
        finally:
            watch.cancel()
            with suppress(asyncio.CancelledError):
                await watch

    def close(self) -> None:
        self.pump.close()


def choose_agent(cfg: EvalConfig, name: str | None) -> AgentCfg:
    """The agent of this name, or the only one."""
    names = [agent.name for agent in cfg.agents]
    if name is None:
        if len(names) > 1:
            raise InputError(f"the config has {len(names)} agents ({', '.join(names)}); say which with --agent NAME")
        return cfg.agents[0]
    if name not in names:
        raise InputError(
            f'no agent "{name}" in the config' + did_you_mean(name, names) + f" (it has {', '.join(names)})"
        )
    return cfg.agent(name)


def tasks_of(cfg: EvalConfig, agent: AgentCfg, naming: Naming | None = None) -> tuple[SpaceInfo, dict[str, Task]]:
    """What the agent is told of its tasks, and the tasks themselves, with what `naming` has of their observations. Each
    environment is made once and closed."""
    tasks: dict[str, Task] = {}
    for task in cfg.tasks:
        env = _make(task.for_agent(agent))
        try:
            whole = Task.of(task, env, cfg.max_episode_steps)
            tasks[task.name] = _with(naming, whole) if naming is not None and naming.keys else whole
        finally:
            env.close()
    told = {task.name: cache(partial(suites.briefing, task.suite, task.options)) for task in cfg.tasks}
    return spaces_of(tasks.values(), told), tasks


def _make(task: TaskCfg) -> Any:
    try:
        return suites.make_env(task.suite, task.options, render=False, worlds=1)
    except InputError:
        raise
    except BREAKS as problem:
        why = f"{type(problem).__name__}: {problem}"
        raise InputError(
            f'the environment of task "{task.name}" cannot be made, which is needed once, for its spaces: {why}'
        ) from problem


def _with(naming: Naming, task: Task) -> Task:
    """A task whose observations are what callers send of them."""
    entries = dict(entries_of(task.observation_space))
    chosen = naming.chosen(entries, f'task "{task.name}"')
    if any(len(path) != 1 for path in chosen) or not isinstance(task.inside.observation, described.Dict):
        raise InputError(f'task "{task.name}" has observations within observations, which no key preset is for')
    parts = [(str(path[0]), task.inside.observation.spaces[str(path[0])]) for path in chosen]
    return Task(replace(task.inside, observation=described.Dict(parts)))


def _described(spaces: SpaceInfo, task: str, naming: Naming) -> dict[str, Any]:
    entries = entries_of(spaces.observation[task])
    return {
        "observation": {naming.key(path): naming.kind(path, space) for path, space in entries},
        "action": fields.kind_of(spaces.action[task]),
    }


def _first_chunk(runner: PolicyRunner, task: Task) -> int | None:
    """How many actions the policy gives at once for an observation drawn from the space; None where it first asks
    another stage, or cannot make anything of it. Also warms it up."""
    if task.layout is None:
        return None
    task.observation_space.seed(0)
    request = Request(None, Trial("warm-up", task.name, 0, 0), task, runner.first_stage)
    request.show(task.layout.split(task.observation_space.sample()))
    decided = decide(runner.answers(runner.first_stage, [request]), check=False)
    if not decided.acting:
        return None
    chunk = decided.chunks[0]
    return len(chunk.actions if isinstance(chunk, Chunk) else chunk)
