"""A robot as the rest of the suite sees it.

J joints are the actuated hinges, in the order of the actions and of `qpos[7:]`; B bodies are all bodies of the model
but the world, in the model's order: MuJoCo's id of a body is its index here plus one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from proctor.errors import InputError
from proctor.registry import did_you_mean

PHYSICS_DT_S = 0.005
"""200 Hz."""


@dataclass(frozen=True, eq=False)
class RobotDescription:
    """What the joints and bodies are for. Arrays are (J,) in joint order and read-only."""

    name: str
    joint_names: tuple[str, ...]
    default_pose: np.ndarray
    """rad."""
    default_height: float
    """Of the root in the default pose, metres."""
    stiffness: np.ndarray
    """Nm/rad."""
    damping: np.ndarray
    """Nm s/rad."""
    effort_limit: np.ndarray
    """Nm; infinite for none."""
    armature: np.ndarray
    """kg m^2."""
    action_scale: np.ndarray
    """rad of target per unit of action."""
    root_body: str
    anchor_body: str
    tracked_bodies: tuple[str, ...]
    observed_bodies: tuple[str, ...]

    @property
    def n_joints(self) -> int:
        return len(self.joint_names)


class Robot:
    """A description and the model that goes with it: 200 Hz, a floor, and one actuator per joint with
    `torque = stiffness * (target - q) - damping * qd`, clipped to the effort limit. The control is the target in
    rad."""

    def __init__(self, description: RobotDescription, spec: Any):
        """`spec` is the finished `mujoco.MjSpec`; copy it before changing it."""
        self.description = description
        self.spec = spec
        self.model = spec.compile()

    @cached_property
    def body_names(self) -> tuple[str, ...]:
        return tuple(self.model.body(i).name for i in range(1, self.model.nbody))

    @cached_property
    def tracked(self) -> np.ndarray:
        """Where the tracked bodies are on the body axis, (Bt,) int."""
        return self.body_indices(self.description.tracked_bodies)

    @cached_property
    def observed(self) -> np.ndarray:
        """Where the observed bodies are on the body axis, (Bo,) int."""
        return self.body_indices(self.description.observed_bodies)

    @cached_property
    def root(self) -> int:
        """Where the root is on the body axis."""
        return self.body_index(self.description.root_body)

    @cached_property
    def anchor(self) -> int:
        """Where the anchor is on the body axis."""
        return self.body_index(self.description.anchor_body)

    def body_index(self, name: str) -> int:
        """Where a body is on the body axis. Raises InputError where there is none."""
        return _find(name, self.body_names, f"body of {self.description.name}")

    def body_indices(self, names: Sequence[str]) -> np.ndarray:
        """Where bodies are on the body axis, int."""
        return np.array([self.body_index(name) for name in names], np.int64)

    @cached_property
    def joint_range(self) -> np.ndarray:
        """Lower and upper limit of each joint, (J, 2) rad; infinite for a joint without limits."""
        free = np.array([-np.inf, np.inf])
        return np.where(self.model.jnt_limited[1:, None].astype(bool), self.model.jnt_range[1:], free)

    @cached_property
    def default_qpos(self) -> np.ndarray:
        """(7+J,): standing at the origin in the default pose, looking along x."""
        return np.concatenate([[0, 0, self.description.default_height, 1, 0, 0, 0], self.description.default_pose])

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the kinematics: equal for models that move alike and name their parts alike."""
        model = self.model
        parts = (
            model.body_parentid, model.body_pos, model.body_quat, model.jnt_bodyid, model.jnt_pos, model.jnt_axis,
            model.qpos0, self.joint_range,
        )  # fmt: skip
        names = "\n".join((*self.description.joint_names, *self.body_names))
        numbers = b"".join((np.round(part, 9) + 0.0).tobytes() for part in parts)
        return hashlib.sha256(numbers + names.encode()).hexdigest()


def _find(name: str, known: Sequence[str], what: str) -> int:
    if name in known:
        return known.index(name)
    raise InputError(f'"{name}" is no {what}' + did_you_mean(name, known) + f" (known: {', '.join(known)})")
