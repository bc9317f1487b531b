"""What a vector environment must offer to be lent to an evaluation, and what motions must.

A lent environment is somebody else's: it belongs to training, there may be only one of it in the process, its worlds
may live on a GPU. An evaluation resets its worlds to given states, steps them, and reads where joints and bodies are.
Arrays may be numpy arrays or torch tensors on any device: what is read stays there, is laid into a tape there, and is
copied to the host once, after the last step. Nothing in here is asked to come to the host during the rollout.

Shapes: N worlds, J joints, B bodies. World frame with z up, metres, radians.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np

from proctor.errors import InputError
from proctor.suites.tracking.metrics import Track

QuaternionOrder = Literal["wxyz", "xyzw"]


class WorldState(NamedTuple):
    """Where all worlds are now, each an array or tensor with N rows."""

    joint_pos: Any
    """(N, J) in the order of the environment's `joint_names`."""
    body_pos: Any
    """(N, B, 3) in the order of its `body_names`."""
    root_pos: Any
    """(N, 3)"""
    root_quat: Any
    """(N, 4) in its quaternion order."""
    anchor_quat: Any
    """(N, 4): orientation of the anchor body, the torso."""
    observed_joint_pos: Any = None
    """(N, J), joint positions minus the default pose as the agent was shown them; None where there is no such."""


@dataclass(frozen=True)
class Starts:
    """What begins in which worlds: n of them."""

    worlds: np.ndarray
    """(n,) distinct."""
    motions: np.ndarray
    """(n,) index of the motion."""
    qpos: np.ndarray
    """(n, 7 + J) root position, root quaternion in the environment's order, joints in the environment's order."""
    qvel: np.ndarray
    """(n, 6 + J) root linear velocity (world), root angular velocity (in the root's own frame), joint velocities."""
    seeds: np.ndarray
    """(n,) for an environment that draws per episode (its own randomisation); others ignore it."""


class LentEnvironment(Protocol):
    """A caller's vector environment. What training needs of it afterwards is kept by `state` and given back by
    `restore`; an environment that cannot be put back exactly gives back what it can (its mode, its motion library),
    and the training loop resets it."""

    @property
    def num_worlds(self) -> int: ...

    @property
    def partial_reset(self) -> bool:
        """False: `reset` starts all worlds or none."""
        ...

    @property
    def quaternion(self) -> QuaternionOrder: ...

    @property
    def joint_names(self) -> Sequence[str]: ...

    @property
    def body_names(self) -> Sequence[str]: ...

    def reset(self, starts: Starts) -> Any:
        """Put worlds into states; the observations of all N worlds. With `partial_reset` False, `starts` has all."""
        ...

    def step(self, actions: Any) -> tuple[Any, Any]:
        """One control step of all worlds: their observations, and `ended` (N,) bool, True where the environment has
        reset the world by itself, so that what is read there is of another episode."""
        ...

    def read(self) -> WorldState:
        """Where all worlds are now. The arrays may be reused by the next step: what is kept is copied."""
        ...

    def state(self) -> Any: ...

    def restore(self, state: Any) -> None: ...


class MotionSource(Protocol):
    """M motions to be tracked, at the control rate, with names of their own."""

    @property
    def names(self) -> Sequence[str]: ...

    @property
    def lengths(self) -> np.ndarray:
        """(M,) frames."""
        ...

    @property
    def dt_s(self) -> float: ...

    @property
    def joint_names(self) -> Sequence[str]: ...

    @property
    def body_names(self) -> Sequence[str]:
        """The tracked bodies."""
        ...

    def track(self, motion: int) -> Track:
        """The reference of one motion: joints and tracked bodies in the order of these names, wxyz."""
        ...

    def start(self, motions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """qpos (n, 7 + J) wxyz and qvel (n, 6 + J) of the first frame of motions, in frames as in `Starts`."""
        ...

    def observations(self) -> Mapping[str, Any]:
        """What an agent that follows would observe in the frames 1 to T-1 of every motion, one motion after another."""
        ...

    def state(self) -> Any: ...

    def restore(self, state: Any) -> None: ...


@dataclass(frozen=True)
class Fit:
    """How an environment's joints, bodies and quaternions map to those of the motions."""

    joints: np.ndarray
    """(J,) for each joint of the motions its column in the environment."""
    bodies: np.ndarray
    """(Bt,) for each tracked body its row in the environment."""
    quaternion: np.ndarray
    """(4,) columns that make the environment's quaternion wxyz."""

    def outward(self, qpos: np.ndarray, qvel: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """States of the motions in the environment's orders."""
        back, turn = np.argsort(self.joints), np.argsort(self.quaternion)
        position = np.concatenate([qpos[:, :3], qpos[:, 3:7][:, turn], qpos[:, 7:][:, back]], axis=1)
        return position, np.concatenate([qvel[:, :6], qvel[:, 6:][:, back]], axis=1)


def fit(env: LentEnvironment, source: MotionSource) -> Fit:
    """How `env` and `source` fit together. Raises InputError where the environment lacks a joint or a tracked body, or
    has joints that the motions do not move."""
    more = [name for name in env.joint_names if name not in source.joint_names]
    if more:
        raise InputError(
            f"the environment has the joints {', '.join(more)}, which the motions do not; use the same robot"
        )
    return Fit(
        _columns(source.joint_names, env.joint_names, "joint"),
        _columns(source.body_names, env.body_names, "tracked body"),
        np.array([0, 1, 2, 3] if env.quaternion == "wxyz" else [3, 0, 1, 2]),
    )


def _columns(wanted: Sequence[str], given: Sequence[str], what: str) -> np.ndarray:
    place = {name: i for i, name in enumerate(given)}
    if len(place) < len(given):
        raise InputError(f"the environment names a {what} twice: {', '.join(given)}")
    if missing := [name for name in wanted if name not in place]:
        raise InputError(
            f"the environment lacks the {what} {', '.join(missing)} of the motions (it has {', '.join(given)})"
        )
    return np.array([place[name] for name in wanted], np.int64)
