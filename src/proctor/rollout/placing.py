"""Where the work of a run is done, chosen by measurement. Nothing of this changes a trial, only what it costs.

**Workers.** A process costs about half a second before its first step, and a message for every step. A run that takes
less than that is stepped in the main process: with `workers: auto`, if its environments are known to be harmless (plain
Python that came with a package), and if their steps, timed on one of them, make the whole run short. What a session
that ended early left over is run in processes, whatever it was that ended it. A longer run stays here, too, where a
model in memory is asked and a step is quicker than the way to it.

**Policies.** With `placement: auto` an agent begins where its policy says, or, where `workers: auto` chose this
process, and for a model in memory, in the worker, which shares the policy: rows of all slots come together. A policy
whose forwards turn out to take milliseconds is then asked by the engine, which steps meanwhile. One that is asked by
the engine moves to workers elsewhere as soon as its forwards have been seen to be quicker than the way to the engine
and back, if it can be loaded there, and if what is left to run is worth loading it. Trials that have begun stay where
they are.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from proctor import suites
from proctor.config.models import AgentCfg, EvalConfig, TaskCfg, WorkersCfg
from proctor.errors import BREAKS
from proctor.policies import loader_for
from proctor.rollout.ask.agents import AgentRuntime
from proctor.runtimes import needed_for
from proctor_host.environments import Env
from proctor_host.spaces import neutral_action

if TYPE_CHECKING:
    from proctor.rollout.crew import Crew

AUTO = "auto"
LOOK_S = 0.01
"""So long an environment is stepped to see what a step takes."""
OWN_S = 15e-6
"""What the engine and the record add to a step."""
SHORT_RUN_S = 5.0
"""Of all steps together, at most: then two cores would not save what starting processes costs."""
ENOUGH = 20
"""Forwards after which their mean says something."""
WAY_S = 200e-6
"""From a worker to the engine and back, for all slots that ask at once."""
HERE_S = 2e-3
"""A forward that takes longer is worth stepping environments meanwhile."""
GRACE = 2.0
"""A move must save that many times what loading the policy costs."""

log = logging.getLogger("proctor")


@dataclass(frozen=True)
class Chosen:
    """Workers of a session, and why."""

    workers: WorkersCfg
    why: str
    measured: bool = True


def choose_workers(cfg: EvalConfig, pending: Collection[tuple[str, str, int]], *, first: bool) -> Chosen:
    """What `workers: auto` is for these (agent, task, index); `first`: no session has worked on the run before."""
    if cfg.workers.kind != AUTO:
        return Chosen(cfg.workers, "as the config says", measured=False)
    processes = cfg.workers.model_copy(update={"kind": "process"})
    if cfg.workers.count is not None:
        return Chosen(processes, f"{cfg.workers.count} workers, as the config says")
    if not first:
        return Chosen(processes, "the run goes on after an earlier session")
    trials = Counter(task for _, task, _ in pending)
    strangers = [task.name for task in cfg.tasks if task.name in trials and not _harmless(task)]
    if strangers:
        return Chosen(processes, f"{strangers[0]} is not known to be harmless")
    try:
        steps = {name: _step_s(cfg, cfg.task(name)) for name in trials}
    except BREAKS:
        return Chosen(processes, "an environment could not be tried")
    seconds = sum(n * limit * (step_s + OWN_S) for n, (limit, step_s) in ((n, steps[t]) for t, n in trials.items()))
    said = f"all steps take {seconds:.1f} s at most"
    if seconds < SHORT_RUN_S:
        return Chosen(WorkersCfg(kind="inline"), said)
    asked_here = any(loader_for(agent.policy).here_only for agent in cfg.agents)
    if asked_here and max(step_s for _, step_s in steps.values()) < 2 * OWN_S:
        return Chosen(WorkersCfg(kind="inline"), "a step takes less than the way to a policy that is asked here")
    return Chosen(processes, said)


def _harmless(task: TaskCfg) -> bool:
    suite = suites.suite_for(task)
    if task.needs_reset is not None or needed_for(task, suite) is not None:
        return False
    return suite.harmless(suite.Options.model_validate(task.options))


def _step_s(cfg: EvalConfig, task: TaskCfg) -> tuple[int, float]:
    """The step limit of a task, and what a step of its environment takes."""
    env = suites.make_env(task.suite, task.options, render=False, worlds=1)
    assert isinstance(env, Env)
    try:
        action, steps = neutral_action(env.action_space), 0
        env.reset(0, 0)
        began = time.perf_counter()
        while not steps or time.perf_counter() - began < LOOK_S:
            ended = env.step(action)
            steps += 1
            if ended.terminated or ended.truncated:
                env.reset(0, 0)
        seconds = (time.perf_counter() - began) / steps
    finally:
        env.close()
    return task.max_episode_steps or cfg.max_episode_steps or env.max_steps or 1000, seconds


class Placing:
    """Moves agents to the workers once that is known to be worth it. `chosen`: so was the kind of workers."""

    def __init__(self, cfg: EvalConfig, crew: Crew, *, chosen: bool):
        self._cfg, self._crew, self._chosen = cfg, crew, chosen
        self.moved: dict[str, dict[str, Any]] = {}
        """Agents that were moved, with what was measured."""

    def begins_here(self, name: str, agent: AgentRuntime) -> bool:
        """Whether an agent begins in the worker, since that is in this process and has the policy anyway: rows of all
        slots come together there."""
        cfg = self._cfg.agent(name)
        if agent.beside_device and agent.may_move and (self._crew.inline or not loader_for(cfg.policy).here_only):
            self.moved[name] = {"beside": getattr(agent.runner.policy, "device", None)}
            return True
        if agent.in_workers or not (self._crew.inline and agent.may_move and len(agent.lanes) == 1):
            return False
        loader = loader_for(cfg.policy)
        if cfg.device != "cpu" or loader.row_by_row or not (self._chosen or loader.here_only):
            return False
        self.moved[name] = {"after_trials": 0}
        return True

    def too_slow(self, name: str, agent: AgentRuntime) -> bool:
        """Whether an agent that began here had better be asked by the engine, which steps meanwhile."""
        if not agent.in_workers or self.moved.get(name) != {"after_trials": 0}:
            return False
        stats = agent.stats[agent.first_stage]
        slow = stats.forwards > 0 and stats.seconds / stats.forwards > HERE_S
        if slow:
            del self.moved[name]
            log.info(
                "agent %s is asked by the engine from now on: a forward takes %.1f ms",
                name,
                1e3 * stats.seconds / stats.forwards,
            )
        return slow

    def due(self, name: str, agent: AgentRuntime, done: int, left: int) -> bool:
        """Whether an agent is to move now; `done` and `left` count trials."""
        stats = agent.stats[agent.first_stage]
        if agent.in_workers or not agent.may_move or len(agent.lanes) != 1 or stats.forwards < ENOUGH or not left:
            return False
        cfg, mean = self._cfg.agent(name), stats.seconds / stats.forwards
        if cfg.device != "cpu" or mean > WAY_S or self._crew.inline:
            return False
        if not self._worth_loading(cfg, agent, left * stats.forwards / max(done, 1)):
            return False
        self.moved[name] = {"forward_s": round(mean, 7), "load_s": round(agent.load_s, 4), "after_trials": done}
        log.info("agent %s is asked in the workers from now on: a forward takes %.0f µs", name, 1e6 * mean)
        return True

    def _worth_loading(self, cfg: AgentCfg, agent: AgentRuntime, forwards: float) -> bool:
        """Whether so many ways to the engine cost clearly more than loading the policy in every worker."""
        loading_s = len(self._crew.members) * agent.load_s
        return not loader_for(cfg.policy).here_only and forwards * WAY_S > GRACE * loading_s
