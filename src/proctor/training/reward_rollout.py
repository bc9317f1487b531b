"""Episodes of reward tasks: the robot starts standing (or in a motion) and acts on one latent to the end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from proctor.errors import InputError
from proctor.policies.arrays import to_host
from proctor.suites.tracking.batch import neutral_action
from proctor.suites.tracking.motions import MotionLibrary, Reference
from proctor.suites.tracking.motions.kinematics import forward
from proctor.suites.tracking.observing import Observer
from proctor.suites.tracking.options import TrackingOptions
from proctor.suites.tracking.robot import Robot
from proctor.suites.tracking.tasks import TaskReward
from proctor.suites.tracking.worlds import Worlds

Act = Callable[[Any, np.ndarray], Any]
"""Actions of observations (k, ...) for tasks (k,)."""


@dataclass(frozen=True)
class Episode:
    """Episode `number` of task `task`: episodes of one number start alike in all tasks."""

    task: int
    number: int


@dataclass(frozen=True, eq=False)
class Played:
    """An episode of S steps. `rewards` (S,) are 0 from where it broke; `broken`: an action was not finite, or the
    simulation broke down. `qpos` (S + 1, 7 + J) is what happened until then, and the last such state after."""

    episode: Episode
    rewards: np.ndarray
    broken: bool
    qpos: np.ndarray


@dataclass(frozen=True)
class EpisodeCfg:
    """How long episodes are, and how much their starts differ."""

    steps: int
    start_noise_rad: float
    seed: int


class RewardWorlds:
    """Worlds of a robot, with the tasks' rewards. What happens in an episode depends on its number, its task and the
    agent: not on how many worlds there are."""

    def __init__(self, robot: Robot, library: MotionLibrary, worlds: int, options: TrackingOptions):
        self.robot, self._library = robot, library
        self._worlds = Worlds(robot, library, worlds, options)
        self._observer = Observer(self._worlds, options)
        self._neutral = neutral_action(robot, options)

    def play(
        self, episodes: Sequence[Episode], act: Act, rewards: Sequence[TaskReward], cfg: EpisodeCfg
    ) -> list[Played]:
        """All episodes, as many at once as there are worlds, in their order."""
        played: list[Played] = []
        for start in range(0, len(episodes), self._worlds.n):
            played += self._wave(episodes[start : start + self._worlds.n], act, rewards, cfg)
        return played

    def close(self) -> None:
        self._worlds.close()

    def _wave(self, wave: Sequence[Episode], act: Act, rewards: Sequence[TaskReward], cfg: EpisodeCfg) -> list[Played]:
        worlds, rows, joints = self._worlds, np.arange(len(wave)), self.robot.description.n_joints
        tasks = np.array([episode.task for episode in wave])
        qpos = np.empty((cfg.steps + 1, len(wave), self.robot.model.nq))
        qvel = np.empty((cfg.steps, len(wave), self.robot.model.nv))
        actions = np.empty((cfg.steps, len(wave), joints))
        sound = np.ones((cfg.steps, len(wave)), bool)
        fine = np.ones(len(wave), bool)
        observation = self._start(wave, cfg)
        qpos[0] = worlds.qpos[rows]
        for step in range(cfg.steps):
            wanted = self._checked(act(observation, tasks), len(wave))
            fine &= np.isfinite(wanted).all(axis=1)
            actions[step] = np.where(fine[:, None], wanted, self._neutral)
            worlds.step(actions[step].astype(np.float32), rows)
            fine &= ~worlds.diverged[rows]
            qpos[step + 1] = np.where(fine[:, None], worlds.qpos[rows], qpos[step])
            qvel[step], sound[step] = worlds.qvel[rows], fine
            observation = self._observer.go_on(rows)
        earned = np.zeros((cfg.steps, len(wave)))
        for task in np.unique(tasks):
            mine = tasks == task
            states = (a[:, mine].reshape(-1, a.shape[2]) for a in (qpos[1:], qvel, actions))
            earned[:, mine] = rewards[task](*states).reshape(cfg.steps, -1)
        earned *= sound
        return [Played(e, earned[:, i], not bool(fine[i]), qpos[:, i]) for i, e in enumerate(wave)]

    def _start(self, wave: Sequence[Episode], cfg: EpisodeCfg) -> dict[str, np.ndarray]:
        """Put the episodes into the first worlds; their observations."""
        rngs = [np.random.default_rng([cfg.seed, episode.number]) for episode in wave]
        starts = [self._first_state(rng, cfg.start_noise_rad) for rng in rngs]
        motions = np.array([motion for motion, _, _ in starts])
        qpos, qvel = (np.stack([start[i] for start in starts]) for i in (1, 2))
        rows = np.arange(len(wave))
        return self._observer.start(rows, self._worlds.reset(rows, motions, rngs, states=(qpos, qvel)))

    def _first_state(self, rng: np.random.Generator, noise_rad: float) -> tuple[int, np.ndarray, np.ndarray]:
        """The first frame of a motion with a little noise on the joints, within their limits."""
        motion = int(rng.integers(len(self._library)))
        at = int(self._library.offsets[motion])
        qpos, qvel = self._library.frames.qpos[at].copy(), self._library.frames.qvel[at].copy()
        shaken = qpos[7:] + rng.uniform(-noise_rad, noise_rad, len(qpos) - 7)
        low, high = self.robot.joint_range.T
        qpos[7:] = np.clip(shaken, np.minimum(low, qpos[7:]), np.maximum(high, qpos[7:]))
        return motion, qpos, qvel

    def _checked(self, actions: Any, count: int) -> np.ndarray:
        found, expected = to_host(actions), (count, self.robot.description.n_joints)
        if found.shape != expected:
            raise InputError(f"act gave actions of shape {found.shape}; expected {expected}: worlds and joints")
        return found.astype(np.float64)


def standing_library(robot: Robot, dt_s: float) -> MotionLibrary:
    """One motion: standing still in the default pose."""
    qpos, qvel = np.tile(robot.default_qpos, (2, 1)), np.zeros((2, robot.model.nv))
    return MotionLibrary([Reference(name="stand", dt_s=dt_s, **vars(forward(robot, qpos, qvel)))])
