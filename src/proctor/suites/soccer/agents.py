"""An agent that needs no model: it stays on its feet, which is worth more than it sounds.

agents:
  - {name: stand, policy: soccer/stand}
"""

from __future__ import annotations

from typing import Any

import numpy as np

from proctor.errors import InputError
from proctor.policies.protocol import Batch, Placement, Policy, SpaceInfo

JOINTS = 12
LEG_RAD = (-0.15, 0.0, 0.0, 0.3, -0.15, 0.0)
"""Hip pitch, roll and yaw, knee, ankle pitch and roll: knees bent a little, feet flat below the trunk."""


class Stand(Policy):
    """Holds a pose with its knees bent: at each leg joint a spring (`stiffness`, N m/rad) and a damper (`damping`,
    N m s/rad), within what the motors can do. Joints are read from the observation, which begins with twelve positions
    and twelve velocities, also with the official preprocessor."""

    placement: Placement = "worker"

    def __init__(self, spaces: SpaceInfo, stiffness: float = 200.0, damping: float = 5.0):
        if not (stiffness >= 0 and damping >= 0):
            raise InputError(f"the agent stand has stiffness {stiffness} and damping {damping}; expected 0 or more")
        self._limits = {task: _limits(task, space) for task, space in spaces.action.items()}
        self._stiffness, self._damping = stiffness, damping
        self._pose = np.array(LEG_RAD * 2)

    def act(self, batch: Batch) -> np.ndarray:
        joints = np.asarray(batch.observation[:, : 2 * JOINTS], np.float64)
        torques = self._stiffness * (self._pose - joints[:, :JOINTS]) - self._damping * joints[:, JOINTS:]
        limits = np.stack([self._limits[trial.task] for trial in batch.trials])
        return np.clip(torques, -limits, limits).astype(np.float32)


def _limits(task: str, space: Any) -> np.ndarray:
    if getattr(space, "shape", None) != (JOINTS,):
        raise InputError(
            f'the agent stand drives {JOINTS} joint torques, but the actions of task "{task}" are {space}; use it in a '
            "soccer task of the robot with legs only, such as goalie_penalty_kick"
        )
    return space.high
