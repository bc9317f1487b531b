"""How the agent of a training loop is asked for actions.

`agent_or_model` is one of
- a latent-conditioned model (`backward_map`, `project_z`, `act(obs, z, mean=True)`), or an agent that holds one as
  `._model`; then the agent's own `act` is asked, and the model makes contexts;
- a `proctor` Policy or StagedPolicy, which reads the reference window in its observation and is asked as in a run.

A torch model gets tensors on its own device; observations that are tensors already stay where they are.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import reduce
from typing import Any, Protocol, runtime_checkable

import numpy as np

from proctor.errors import InputError, RunError
from proctor.policies.arrays import is_module, no_gradients, to_host
from proctor.policies.latent import ContextTable, LatentModel, MapsStates, context_table
from proctor.policies.protocol import AnyPolicy, Policy, StagedPolicy
from proctor.policies.tree import tree_map
from proctor.rollout.ask.decide import decide
from proctor.rollout.ask.requests import Request
from proctor.rollout.ask.runner import PolicyRunner
from proctor.rollout.tasks import Task
from proctor.training.lent import LentEnvironment, MotionSource
from proctor.training.options import TrackingEvaluationCfg
from proctor_host import spaces
from proctor_host import task as described
from proctor_host.cfg import TaskCfg
from proctor_host.messages import Chunk
from proctor_host.trials import Trial

TASK = "tracking"
"""The name under which a Policy meets the evaluation's own environment."""


@runtime_checkable
class _HoldsModel(Protocol):
    _model: Any


def extract_model(agent_or_model: Any) -> Any:
    """The model: what the agent holds as `._model`, or the thing itself."""
    return agent_or_model._model if isinstance(agent_or_model, _HoldsModel) else agent_or_model


def driver_for(
    agent_or_model: Any, env: LentEnvironment, source: MotionSource, cfg: TrackingEvaluationCfg
) -> PolicyDriver | LatentDriver:
    """The way to drive this agent; with `legacy`, contexts are computed motion by motion, as that evaluator did.
    Raises InputError for one that is neither a latent-conditioned model nor a policy."""
    model = extract_model(agent_or_model)
    if isinstance(model, Policy | StagedPolicy):
        return PolicyDriver(model, env.num_worlds, len(env.joint_names), cfg.pad_to)
    if isinstance(model, MapsStates):
        return LatentDriver(agent_or_model, source, cfg.window, one_by_one=cfg.legacy is not None)
    raise InputError(
        f"cannot evaluate a {type(model).__name__}: expected a model with backward_map, project_z and act, an agent "
        "that holds one as ._model, or a proctor Policy"
    )


class LatentDriver:
    """Contexts of all motions in one table, gathered by index at each step."""

    def __init__(self, agent: Any, source: MotionSource, window: int = 1, *, one_by_one: bool = False):
        model: LatentModel = extract_model(agent)
        self._agent, self._put = agent, Putter(model)
        counts = np.asarray(source.lengths) - 1
        with no_gradients():
            seen = self._put(source.observations())
            self.table: ContextTable = context_table(model, seen, counts, window, one_by_one=one_by_one)

    def begin(self, worlds: np.ndarray, motions: np.ndarray, seeds: np.ndarray) -> None:
        """A latent-conditioned model keeps nothing between steps."""

    def act(self, observation: Any, motions: np.ndarray, frames: np.ndarray) -> Any:
        """Actions of all worlds; world n is to reach frame `frames[n]` of motion `motions[n]`."""
        with no_gradients():
            return self._agent.act(self._put(observation), self.table.gather(motions, frames), mean=True)


class PolicyDriver:
    """A policy, asked as the engine asks it: in blocks of `pad_to` rows, each trial with its own generator and state.
    So an episode of an evaluation equals the trial of a run with the same motion and seed."""

    def __init__(self, policy: AnyPolicy, worlds: int, joints: int, pad_to: int | None):
        self._runner, self._joints = PolicyRunner(policy, pad_to), joints
        self._task: Task | None = None
        self._trials: list[Trial | None] = [None] * worlds
        self._requests: dict[int, Request] = {}
        self._planned: dict[int, list[np.ndarray]] = {}
        """By world the rest of the chunk that is being executed."""

    def begin(self, worlds: np.ndarray, motions: np.ndarray, seeds: np.ndarray) -> None:
        for world, motion, seed in zip(worlds.tolist(), motions.tolist(), seeds.tolist(), strict=True):
            self._trials[world] = Trial("agent", TASK, motion, seed)
            self._requests.pop(world, None)
            self._planned.pop(world, None)

    def act(self, observation: Any, motions: np.ndarray, frames: np.ndarray) -> np.ndarray:
        """Actions (worlds, joints); zeros in a world that has no episode yet. Raises RunError where the policy
        fails."""
        seen = tree_map(to_host, observation)
        task = self._task = self._task or _task_of(seen, self._joints)
        assert task.layout is not None
        columns = [reduce(lambda value, key: value[key], leaf.path, seen) for leaf in task.layout.leaves]
        asking = []
        for world, trial in enumerate(self._trials):
            if trial is not None and not self._planned.get(world):
                if world not in self._requests:
                    self._requests[world] = Request(world, trial, task, self._runner.first_stage)
                request = self._requests[world].ask(0, 0.0)
                request.see(columns, world)
                asking.append(request)
        while asking:
            asking = self._asked(asking)
        still, worlds = np.zeros(self._joints, np.float32), range(len(self._trials))
        return np.stack([self._planned[world].pop(0) if world in self._planned else still for world in worlds])

    def _asked(self, requests: list[Request]) -> list[Request]:
        """Ask for the stage of the first of these; those that are still to be asked."""
        stage = requests[0].stage
        found = decide(self._runner.answers(stage, [r for r in requests if r.stage == stage]), check=False)
        if found.ended:
            trial, error = found.ended[0].request.trial, found.ended[0].error
            raise RunError(f"the policy failed in motion {trial.index} (seed {trial.seed}): {error}")
        for request, chunk in zip(found.acting, found.chunks, strict=True):
            self._planned[request.owner] = list(chunk.actions if isinstance(chunk, Chunk) else chunk)
        return [*(r for r in requests if r.stage != stage), *found.asking]


def _task_of(observation: Any, joints: int) -> Task:
    """The task that worlds with such observations (worlds, ...) are."""

    def space(values: Any) -> spaces.Space:
        if isinstance(values, Mapping):
            return spaces.Dict({key: space(values[key]) for key in sorted(values)})
        whole = np.issubdtype(values.dtype, np.integer)
        low, high = (np.iinfo(values.dtype).min, np.iinfo(values.dtype).max) if whole else (-np.inf, np.inf)
        return spaces.Box(low, high, values.shape[1:], values.dtype)

    cfg = TaskCfg(name=TASK, suite="tracking", options={})
    return Task(described.Task(cfg, space(observation), spaces.Box(-np.inf, np.inf, (joints,), np.float32)))


class Putter:
    """Puts observations where the model is."""

    def __init__(self, model: Any):
        self._torch: Any = sys.modules["torch"] if is_module(model) else None
        self._device = self._dtype = None
        if self._torch is not None:
            first = next((p for p in model.parameters() if p.is_floating_point()), self._torch.zeros(0))
            self._device, self._dtype = first.device, first.dtype

    def __call__(self, observation: Any) -> Any:
        if self._torch is None:
            return observation
        if isinstance(observation, Mapping):
            return {key: self(value) for key, value in observation.items()}
        tensor = self._torch.as_tensor(observation)
        return tensor.to(self._device, self._dtype if tensor.is_floating_point() else None)
