"""An environment and a policy of your own, in one file.

    proctor run examples/02_own_policy_and_env.yml

The environment is an ordinary Gymnasium one; importing this file registers it, and the config names it as
`02_own_policy_and_env.py:Dock-v0`. The policy has a memory, which Proctor keeps for it, one per trial.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box

from proctor import Actions, Batch, Policy, Trial

DT_S = 0.1


class Dock(gymnasium.Env[np.ndarray, np.ndarray]):
    """A boat in a current of unknown strength. Observation: position (m), speed (m/s). Action: thrust
    (m/s^2). The boat is docked when it lies within 5 cm of 0 at less than 5 cm/s."""

    observation_space = Box(-np.inf, np.inf, (2,), np.float64)
    action_space = Box(-1.0, 1.0, (1,), np.float64)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self.state = np.array([self.np_random.uniform(-2.0, 2.0), 0.0])
        self.current = self.np_random.uniform(-0.5, 0.5)
        return self.state.copy(), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        position, speed = self.state
        speed += DT_S * (float(action[0]) + self.current)
        self.state = np.array([position + DT_S * speed, speed])
        docked = bool(abs(self.state[0]) < 0.05 and abs(speed) < 0.05)
        info = {"success": docked, "distance_m": abs(self.state[0])}
        return self.state.copy(), -abs(float(self.state[0])), False, False, info


gymnasium.register("Dock-v0", f"{__name__}:Dock", max_episode_steps=150)


class Pilot(Policy):
    """A spring and a damper, and with `patience` an integrator, which learns the current."""

    def __init__(self, patience: float = 0.0):
        self.patience = patience

    def reset(self, trials: Sequence[Trial]) -> np.ndarray:
        """The memory of each trial at its start: the sum of its position errors, one row per trial."""
        return np.zeros(len(trials))

    def act(self, batch: Batch) -> Actions:
        """The rows come from different trials; so do the rows of `batch.state`."""
        position, speed = batch.observation.T
        error_sum = batch.state + DT_S * position
        thrust = -1.0 * position - 1.5 * speed - self.patience * error_sum
        return Actions(np.clip(thrust, -1.0, 1.0)[:, None], state=error_sum)
