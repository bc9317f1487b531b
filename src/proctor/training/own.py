"""The evaluation's own environment and motions: those of the tracking suite, behind the protocols of lent ones."""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from proctor.policies.arrays import to_host
from proctor.suites.tracking.layout import HumanoidVerseLayout
from proctor.suites.tracking.metrics import Track
from proctor.suites.tracking.motions import MotionLibrary
from proctor.suites.tracking.observations import reference_observations, reference_signals
from proctor.suites.tracking.observing import Observer, merged
from proctor.suites.tracking.options import TrackingOptions
from proctor.suites.tracking.robot import Robot
from proctor.suites.tracking.worlds import Worlds
from proctor.training.lent import QuaternionOrder, Starts, WorldState


class OwnWorlds(abc.ABC):
    """Worlds that an evaluation has made for itself, on the processor or on a device: nothing of training is in them,
    and there is nothing to give back."""

    partial_reset = True
    quaternion: QuaternionOrder = "wxyz"
    num_worlds: int
    joint_names: Sequence[str]
    body_names: Sequence[str]

    @abc.abstractmethod
    def reset(self, starts: Starts) -> Any: ...

    @abc.abstractmethod
    def step(self, actions: Any) -> tuple[Any, Any]: ...

    @abc.abstractmethod
    def read(self) -> WorldState: ...

    @abc.abstractmethod
    def close(self) -> None: ...

    def state(self) -> None:  # noqa: B027 - there is nothing to keep
        """Nothing."""

    def restore(self, state: None) -> None:  # noqa: B027 - likewise
        """Nothing."""


class OwnEnvironment(OwnWorlds):
    """N worlds that can be reset one by one. Randomisation and noise are drawn per episode from its seed, so a world's
    number changes nothing.

    A world whose agent gives an action that is not finite, or whose simulation breaks down, stands still from then on
    and reads as NaN: what was not done cannot be measured, and is not left out either."""

    def __init__(self, robot: Robot, library: MotionLibrary, worlds: int, options: TrackingOptions):
        self.num_worlds = worlds
        self.joint_names, self.body_names = robot.description.joint_names, robot.body_names
        self._robot = robot
        self.worlds = Worlds(robot, library, worlds, options)
        self._observer = Observer(self.worlds, options)
        self._broken = np.zeros(worlds, bool)
        self._observation: dict[str, np.ndarray] = {}

    def reset(self, starts: Starts) -> dict[str, np.ndarray]:
        rngs = [np.random.default_rng(seed) for seed in starts.seeds.tolist()]
        return self.begin(starts.worlds, starts.motions, rngs, (starts.qpos, starts.qvel))

    def begin(
        self,
        worlds: np.ndarray,
        motions: np.ndarray,
        rngs: Sequence[np.random.Generator],
        states: tuple[np.ndarray, np.ndarray],
    ) -> dict[str, np.ndarray]:
        """Put worlds (n,) into states (qpos, qvel), each with the generator of its episode; the observations of all."""
        first = self._observer.start(worlds, self.worlds.reset(worlds, motions, rngs, states=states))
        self._broken[worlds] = False
        self._observation = merged(self._observation, self.num_worlds, worlds, first)
        return dict(self._observation)

    def step(self, actions: Any) -> tuple[dict[str, np.ndarray], None]:
        """Worlds that were never reset take part, standing in the default pose; nobody reads them."""
        wanted = to_host(actions)
        self._broken |= ~np.isfinite(wanted).reshape(self.num_worlds, -1).all(axis=1)
        self.worlds.step(np.where(self._broken[:, None], 0.0, wanted))
        self._broken |= self.worlds.diverged
        self._observation = self._observer.go_on(slice(None))
        return dict(self._observation), None

    def read(self) -> WorldState:
        worlds, joints = self.worlds, self._robot.description.n_joints
        observed = None if self._observer.state is None else self._observer.state[:, :joints]
        state = WorldState(
            joint_pos=worlds.qpos[:, 7:],
            body_pos=worlds.bodies.pos,
            root_pos=worlds.qpos[:, :3],
            root_quat=worlds.qpos[:, 3:7],
            anchor_quat=worlds.bodies.quat[:, self._robot.anchor],
            observed_joint_pos=observed,
        )
        return WorldState(*(None if values is None else self.honest(values) for values in state))

    def honest(self, values: np.ndarray) -> np.ndarray:
        """Values (N, ...) with NaN in the rows of broken worlds."""
        if not self._broken.any():
            return values
        return np.where(self._broken.reshape(-1, *[1] * (values.ndim - 1)), np.nan, values)

    def close(self) -> None:
        self.worlds.close()


class LibrarySource:
    """A MotionSource of Proctor's own library and robot."""

    def __init__(
        self,
        library: MotionLibrary,
        robot: Robot,
        velocity_multiplier: float = 1.0,
        layout: HumanoidVerseLayout | None = None,
    ):
        self.library, self.robot, self._layout = library, robot, layout
        self._velocity_multiplier = velocity_multiplier
        self.names, self.lengths, self.dt_s = library.names, library.lengths, library.dt_s
        self.joint_names = robot.description.joint_names
        self.body_names = robot.description.tracked_bodies

    def track(self, motion: int) -> Track:
        found = reference_signals(self.robot, self.library.reference(motion))
        return Track(observed=found.pop("observed_joint_pos"), **found)

    def start(self, motions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        first = self.library.gather(motions, np.zeros_like(motions))
        return first.qpos, first.qvel

    def observations(self) -> Mapping[str, Any]:
        """`state`, `privileged_state`, and `last_action` (zeros: a reference has none)."""
        frames, offsets = self.library.frames, self.library.offsets
        later = frames.rows(np.delete(np.arange(len(frames)), offsets[:-1]))
        found = reference_observations(
            self.robot, later, velocity_multiplier=self._velocity_multiplier, layout=self._layout
        )
        return {**found, "last_action": np.zeros((len(later), self.robot.description.n_joints))}

    def state(self) -> Any:
        return self.library.state()

    def restore(self, state: Any) -> None:
        self.library.restore(state)
