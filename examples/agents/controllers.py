"""Hand-written controllers for the quickstart's tasks: the simplest kind of agent, a function for each task.

A policy gets a batch of rows, each from another trial, and `batch.trials` says which. Here every row is
answered on its own, so nothing can leak from one trial into another.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

import numpy as np

from proctor import Batch, Policy

Action = np.ndarray | np.int64


def cartpole(observation: np.ndarray) -> Action:
    """Push to the side that the pole falls to: the sign of a linear feedback on the whole state."""
    x, x_speed, angle, angle_speed = observation.tolist()
    return np.int64(0.1 * x + 0.3 * x_speed + 3.0 * angle + angle_speed > 0)


def pendulum(observation: np.ndarray) -> Action:
    """Pump energy until it suffices for the top, then hold there with a spring and a damper."""
    cos, sin, speed = observation.tolist()
    angle = math.atan2(sin, cos)
    if abs(angle) < 0.5 and abs(speed) < 4.0:
        torque = -12.0 * angle - 3.0 * speed
    else:
        energy = speed**2 / 6.0 + 5.0 * cos
        torque = math.copysign(2.0, speed) if energy < 5.0 else -math.copysign(2.0, speed)
    return np.array([min(max(torque, -2.0), 2.0)], np.float32)


def acrobot(observation: np.ndarray) -> Action:
    """Swing the lower link against the motion of the upper one."""
    upper_speed = float(observation[4])
    return np.int64(0 if upper_speed > 0 else 2)


def reacher(observation: np.ndarray) -> Action:
    """Pull the fingertip to the target with a spring (transposed Jacobian times error); damp the joints."""
    cos_1, cos_2, sin_1, sin_2, _, _, speed_1, speed_2, error_x, error_y = observation.tolist()
    elbow = (-0.1 * sin_1, 0.1 * cos_1)
    forearm = (-0.11 * (sin_1 * cos_2 + cos_1 * sin_2), 0.11 * (cos_1 * cos_2 - sin_1 * sin_2))
    pull_2 = forearm[0] * error_x + forearm[1] * error_y
    pull_1 = pull_2 + elbow[0] * error_x + elbow[1] * error_y
    torque = np.array([-50.0 * pull_1 - 0.1 * speed_1, -50.0 * pull_2 - 0.1 * speed_2], np.float32)
    return np.clip(torque, -1.0, 1.0)


CONTROLLERS: dict[str, Callable[[np.ndarray], Action]] = {
    "cartpole": cartpole,
    "pendulum": pendulum,
    "acrobot": acrobot,
    "reacher": reacher,
}


class Controllers(Policy):
    """One agent for all tasks of the quickstart: looks up the controller by the name of the row's task."""

    def act(self, batch: Batch) -> np.ndarray:
        rows = zip(batch.trials, batch.observation, strict=True)
        return np.stack([CONTROLLERS[trial.task](observation) for trial, observation in rows])


class Clumsy(Controllers):
    """The same, but in a share of the steps it takes the world for its mirror image."""

    def __init__(self, share: float = 0.3):
        self.share = share

    def act(self, batch: Batch) -> np.ndarray:
        mirrored = batch.uniform((1,)) < self.share
        seen = np.where(mirrored, -batch.observation, batch.observation)
        return super().act(dataclasses.replace(batch, observation=seen))
