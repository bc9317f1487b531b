"""Episodes of tracking: the robot starts in the first frame of a motion, and the agent follows the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from proctor.policies.arrays import beside
from proctor.suites.tracking.metrics import Track
from proctor.training.lent import LentEnvironment, MotionSource, Starts, fit
from proctor.training.rollout import Episode


class Driver(Protocol):
    """Turns observations of all worlds into actions."""

    def begin(self, worlds: np.ndarray, motions: np.ndarray, seeds: np.ndarray) -> None:
        """Episodes begin in these worlds."""
        ...

    def act(self, observation: Any, motions: np.ndarray, frames: np.ndarray) -> Any:
        """Actions of all worlds; world n is to reach frame `frames[n]` of motion `motions[n]`."""
        ...


class TrackingArena:
    """An environment in which a driven agent follows motions. Of the bodies, only the tracked ones are kept."""

    def __init__(self, env: LentEnvironment, source: MotionSource, driver: Driver):
        self._env, self._source, self._driver = env, source, driver
        self._fit = fit(env, source)
        self.num_worlds, self.partial_reset = env.num_worlds, env.partial_reset
        self._ended: Any = None

    def begin(self, worlds: np.ndarray, episodes: Sequence[Episode]) -> Any:
        motions = np.array([episode.item for episode in episodes], np.int64)
        seeds = np.array([episode.seed for episode in episodes])
        self._ended = None
        self._driver.begin(worlds, motions, seeds)
        return self._env.reset(Starts(worlds, motions, *self._fit.outward(*self._source.start(motions)), seeds))

    def step(self, observation: Any, items: np.ndarray, frames: np.ndarray) -> Any:
        observation, self._ended = self._env.step(self._driver.act(observation, items, frames))
        return observation

    def read(self) -> dict[str, Any]:
        fields = {**self._env.read()._asdict(), "ended": self._ended}
        fields["body_pos"] = fields["body_pos"][:, beside(fields["body_pos"], self._fit.bodies)]
        return {name: values for name, values in fields.items() if values is not None}

    def track(self, fields: dict[str, np.ndarray]) -> Track:
        """The agent's track of an episode, in the motions' joint order and wxyz, up to where the environment has reset
        the world by itself."""
        ended = np.flatnonzero(fields.get("ended", False))
        until = {name: values[: ended[0]] if len(ended) else values for name, values in fields.items()}
        return Track(
            joint_pos=until["joint_pos"][:, self._fit.joints],
            body_pos=until["body_pos"],
            root_pos=until["root_pos"],
            root_quat=until["root_quat"][:, self._fit.quaternion],
            anchor_quat=until["anchor_quat"][:, self._fit.quaternion],
            observed=until["observed_joint_pos"][:, self._fit.joints] if "observed_joint_pos" in until else None,
        )
