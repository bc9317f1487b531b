"""Meta-World's scripted experts as one agent, which chooses by task.

    agents:
      - {name: expert, policy: metaworld/expert}

An expert reads the vector of 39 numbers: a task with images shows it with `privileged: true`.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from proctor.errors import InputError, optional
from proctor.policies.protocol import Batch, Placement, Policy, SpaceInfo


class Expert(Policy):
    """The script of each row's task, on what the row observes; `noise` adds normal noise of this deviation to the
    action, drawn from the trial's generator."""

    placement: Placement = "worker"

    def __init__(self, spaces: SpaceInfo, noise: float = 0.0):
        if not noise >= 0.0:
            raise InputError(f"the expert was given noise {noise}; expected a deviation of at least 0")
        self._noise = noise
        self._scripts = {name: _script(name, spaces) for name in spaces.action or spaces.briefing}
        warnings.filterwarnings("ignore", message=r"Constant\(s\) may be too high", category=UserWarning)

    def act(self, batch: Batch) -> np.ndarray:
        seen = batch.observation["privileged"] if isinstance(batch.observation, dict) else batch.observation
        actions = np.stack(
            [
                self._scripts[trial.task].get_action(np.asarray(row, np.float64))
                for trial, row in zip(batch.trials, seen, strict=True)
            ]
        )
        if self._noise:
            actions = actions + self._noise * batch.normal((actions.shape[1],))
        return np.clip(actions, -1.0, 1.0).astype(np.float32)


def _script(name: str, spaces: SpaceInfo) -> Any:
    """The expert of a task. Raises InputError where it has none, or shows too little."""
    briefing = spaces.briefing[name]() if name in spaces.briefing else None
    task, options = getattr(briefing, "task", None), getattr(briefing, "options", None)
    if task is None or options is None:
        raise InputError(f'the expert knows the tasks of Meta-World; task "{name}" is none: use suite: metaworld')
    if options.observation == "images" and not options.privileged:
        raise InputError(
            f'the expert needs to know where things are, but task "{name}" shows images only: set privileged: true in '
            "the task's options"
        )
    if not options.goal_observable:
        raise InputError(f'the expert needs to know the goal, but task "{name}" hides it: set goal_observable: true')
    return optional("metaworld.policies", "the agent metaworld/expert", "metaworld").ENV_POLICY_MAP[task]()
