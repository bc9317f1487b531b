"""Agents that need no model: `random`, uniform in the task's action space, and `zero`, the neutral action."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from proctor.config.models import AgentCfg
from proctor.errors import InputError
from proctor.policies.loader import Loader
from proctor.policies.options import PolicyOptions
from proctor.policies.protocol import Batch, Placement, Policy, SpaceInfo, by_task
from proctor_host.spaces import action_sampler, neutral_action


class RandomPolicy(Policy):
    """Each row draws from its own trial's generator."""

    placement: Placement = "worker"

    def __init__(self, action_spaces: dict[str, Any]):
        self._samplers = {task: action_sampler(space) for task, space in action_spaces.items()}

    def act(self, batch: Batch) -> np.ndarray:
        numbers = np.arange(len(batch))

        def draw(task: str, rows: np.ndarray | slice) -> np.ndarray:
            sample = self._samplers[task]
            return np.stack([sample(batch.rngs[row]) for row in numbers[rows].tolist()])

        return by_task(batch.trials, draw)


class ZeroPolicy(Policy):
    """Zeros, or the nearest valid action."""

    placement: Placement = "worker"

    def __init__(self, action_spaces: dict[str, Any]):
        self.actions = {task: np.asarray(neutral_action(space)) for task, space in action_spaces.items()}

    def act(self, batch: Batch) -> np.ndarray:
        numbers = np.arange(len(batch))
        return by_task(batch.trials, lambda task, rows: np.stack([self.actions[task]] * len(numbers[rows])))


class RandomLoader(Loader):
    """Uniform in the task's action space, from each trial's own generator."""

    name: ClassVar[str] = "random"
    in_workers: ClassVar[bool] = True
    policy: ClassVar[type[RandomPolicy | ZeroPolicy]] = RandomPolicy

    def load(self, agent: AgentCfg, options: PolicyOptions, spaces: SpaceInfo, base: Path | None) -> Policy:
        from gymnasium import spaces as gs

        for task, space in spaces.action.items():
            if not isinstance(space, gs.Box | gs.Discrete | gs.MultiDiscrete | gs.MultiBinary):
                raise InputError(
                    f'agent "{agent.name}": the {self.name} agent knows Box, Discrete, MultiDiscrete and '
                    f'MultiBinary actions; task "{task}" has {space}'
                )
        return self.policy(spaces.action)


class ZeroLoader(RandomLoader):
    """Zeros, or the nearest valid action."""

    name, policy = "zero", ZeroPolicy
