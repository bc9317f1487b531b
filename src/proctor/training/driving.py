"""How the agent of a training loop is asked for actions.

`agent_or_model` is one of
- a latent-conditioned model (`backward_map`, `project_z`, `act(obs, z, mean=True)`), or an agent that holds one as
  `._model`; then the agent's own `act` is asked, and the model makes contexts;
- a `proctor` Policy, which reads the reference window in its observation.

A torch model gets tensors on its own device; observations that are tensors already stay where they are.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

import numpy as np

from proctor.errors import InputError
from proctor.plan.trial import Trial
from proctor.policies.arrays import is_module, no_gradients, to_host
from proctor.policies.latent import ContextTable, LatentModel, MapsStates, context_table
from proctor.policies.protocol import Actions, Batch, Policy
from proctor.policies.tree import tree_map
from proctor.training.lent import MotionSource

TASK = "tracking"
"""The name under which a Policy meets the evaluation's own environment."""


@runtime_checkable
class _HoldsModel(Protocol):
    _model: Any


def extract_model(agent_or_model: Any) -> Any:
    """The model: what the agent holds as `._model`, or the thing itself."""
    return agent_or_model._model if isinstance(agent_or_model, _HoldsModel) else agent_or_model


def driver_for(agent_or_model: Any, source: MotionSource, worlds: int, window: int) -> PolicyDriver | LatentDriver:
    """The way to drive this agent. Raises InputError for one that is neither a latent-conditioned model nor a
    Policy."""
    model = extract_model(agent_or_model)
    if isinstance(model, Policy):
        return PolicyDriver(model, worlds)
    if isinstance(model, MapsStates):
        return LatentDriver(agent_or_model, source, window)
    raise InputError(
        f"cannot evaluate a {type(model).__name__}: expected a model with backward_map, project_z and act, an agent "
        "that holds one as ._model, or a proctor Policy"
    )


class LatentDriver:
    """Contexts of all motions in one table, gathered by index at each step."""

    def __init__(self, agent: Any, source: MotionSource, window: int = 1):
        model: LatentModel = extract_model(agent)
        self._agent, self._put = agent, Putter(model)
        counts = np.asarray(source.lengths) - 1
        with no_gradients():
            self.table: ContextTable = context_table(model, self._put(source.observations()), counts, window)

    def begin(self, worlds: np.ndarray, motions: np.ndarray, seeds: np.ndarray) -> None:
        """A latent-conditioned model keeps nothing between steps."""

    def act(self, observation: Any, motions: np.ndarray, frames: np.ndarray) -> Any:
        with no_gradients():
            return self._agent.act(self._put(observation), self.table.gather(motions, frames), mean=True)


class PolicyDriver:
    """A Policy on batches of all worlds. Each world's generator and state are its episode's."""

    def __init__(self, policy: Policy, worlds: int, task: str = TASK):
        self._policy, self._task = policy, task
        self._trials = [Trial("agent", task, 0, world) for world in range(worlds)]
        self._rngs = [trial.policy_rng() for trial in self._trials]
        self._state: Any = policy.reset(self._trials)

    def begin(self, worlds: np.ndarray, motions: np.ndarray, seeds: np.ndarray) -> None:
        for world, motion, seed in zip(worlds.tolist(), motions.tolist(), seeds.tolist(), strict=True):
            self._trials[world] = Trial("agent", self._task, motion, seed)
            self._rngs[world] = self._trials[world].policy_rng()
        fresh = self._policy.reset([self._trials[world] for world in worlds.tolist()])
        self._state = tree_map(lambda old, new: _with_rows(old, worlds, new), self._state, fresh)

    def act(self, observation: Any, motions: np.ndarray, frames: np.ndarray) -> np.ndarray:
        answer = self._policy.act(Batch(tree_map(to_host, observation), self._state, self._rngs, self._trials))
        if isinstance(answer, Actions):
            self._state = answer.state
            return answer.actions
        return answer


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


def _with_rows(old: np.ndarray, rows: np.ndarray, new: np.ndarray) -> np.ndarray:
    changed = np.array(old)
    changed[rows] = new
    return changed
