"""HumanoidVerse's layout of observations and actions, in which BFM-Zero's models are trained.

- `state`: as ours (joint positions minus default, joint velocities, gravity, base angular velocity), each part times
  its scale; sensor noise comes before the scale.
- `last_action`, and the action itself: times `action_gain`, clipped to `action_clip`. The robot's action scale is
  applied to that.
- `history_actor`: what was observed after earlier steps, part by part in the order actions, base angular velocity,
  joint positions, joint velocities, gravity; each the last `history` steps, newest first. The first observation of an
  episode is not in it, and what has not been yet is zero.
- A reference's `state` has its angular velocity in the world frame and no scales, as HumanoidVerse makes it.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from pydantic import Field

from proctor.suites.protocol import SuiteOptions

_STATE = ("dof_pos", "dof_vel", "projected_gravity", "base_ang_vel")
"""The parts of `state`, in its order."""


class ScalesCfg(SuiteOptions):
    """Factors on what is observed; HumanoidVerse's `obs_scales`."""

    actions: float = Field(default=1.0, allow_inf_nan=False)
    base_ang_vel: float = Field(default=0.25, allow_inf_nan=False)
    dof_pos: float = Field(default=1.0, allow_inf_nan=False)
    dof_vel: float = Field(default=1.0, allow_inf_nan=False)
    projected_gravity: float = Field(default=1.0, allow_inf_nan=False)


class LengthsCfg(SuiteOptions):
    """Steps of each part in `history_actor`; HumanoidVerse's `obs_auxiliary.history_actor`. 0 leaves a part out."""

    actions: int = Field(default=4, ge=0, le=10_000)
    base_ang_vel: int = Field(default=4, ge=0, le=10_000)
    dof_pos: int = Field(default=4, ge=0, le=10_000)
    dof_vel: int = Field(default=4, ge=0, le=10_000)
    projected_gravity: int = Field(default=4, ge=0, le=10_000)


class HumanoidVerseLayout(SuiteOptions):
    """HumanoidVerse's layout; the defaults are those of BFM-Zero's training."""

    name: Literal["humanoidverse"] = "humanoidverse"
    scales: ScalesCfg = ScalesCfg()
    history: LengthsCfg = LengthsCfg()
    action_gain: float = Field(default=5.0, gt=0, allow_inf_nan=False)
    """`normalize_action_to` over `normalize_action_from`."""
    action_clip: float = Field(default=5.0, gt=0)
    """`action_clip_value`, after the gain."""

    def acted(self, actions: np.ndarray) -> np.ndarray:
        """What the robot is told of actions (..., J)."""
        return np.clip(actions * self.action_gain, -self.action_clip, self.action_clip)

    def shown_action(self, actions: np.ndarray) -> np.ndarray:
        """What is shown of the last actions (..., J)."""
        return self.acted(actions) * self.scales.actions

    def shown(self, state: np.ndarray) -> np.ndarray:
        """What is shown of a state (..., 2J + 6)."""
        sizes = widths((state.shape[-1] - 6) // 2)
        factors = [getattr(self.scales, part) for part in _STATE]
        return state * np.repeat(factors, [sizes[part] for part in _STATE])


def layout_named(value: Any) -> Any:
    """A layout may be given by its name alone."""
    return {"name": value} if isinstance(value, str) else value


def widths(joints: int) -> dict[str, int]:
    """How many numbers each part has, in the order of `history_actor`."""
    return {"actions": joints, "base_ang_vel": 3, "dof_pos": joints, "dof_vel": joints, "projected_gravity": 3}


def history_size(layout: HumanoidVerseLayout, joints: int) -> int:
    return sum(getattr(layout.history, part) * width for part, width in widths(joints).items())


class ActorHistory:
    """The `history_actor` of n worlds."""

    def __init__(self, layout: HumanoidVerseLayout, n: int, joints: int):
        self._layout, self._joints = layout, joints
        self._rows = {
            part: np.zeros((n, getattr(layout.history, part), width), np.float32)
            for part, width in widths(joints).items()
        }

    def clear(self, worlds: np.ndarray) -> None:
        """A new episode in these worlds."""
        for rows in self._rows.values():
            rows[worlds] = 0.0

    def push(self, worlds: np.ndarray | slice, state: np.ndarray, last_action: np.ndarray) -> None:
        """Take what these worlds were shown after a step: `state` (k, 2J + 6) and `last_action` (k, J)."""
        sizes = widths(self._joints)
        cuts = np.cumsum([sizes[part] for part in _STATE])[:-1]
        seen = {**dict(zip(_STATE, np.split(state, cuts, axis=-1), strict=True)), "actions": last_action}
        for part, rows in self._rows.items():
            if rows.shape[1]:
                rows[worlds, 1:] = rows[worlds, :-1].copy()
                rows[worlds, 0] = seen[part]

    def seen(self, worlds: np.ndarray | slice) -> np.ndarray:
        """(k, ...) float32, an array of its own."""
        parts = [rows[worlds] for rows in self._rows.values()]
        return np.concatenate([part.reshape(len(part), -1) for part in parts], axis=1)
