"""Episodes of reward tasks: the robot starts standing (or in a motion) and acts on one latent to the end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from proctor.errors import InputError
from proctor.policies.arrays import to_host
from proctor.suites.tracking.motions import Frames, MotionLibrary, Reference
from proctor.suites.tracking.robot import Robot
from proctor.suites.tracking.tasks import TaskReward
from proctor.training.own import OwnEnvironment
from proctor.training.rollout import EndedEpisode, Episode, run_episodes

Act = Callable[[Any, np.ndarray], Any]
"""Actions of observations (k, ...) for tasks (k,)."""


@dataclass(frozen=True, eq=False)
class Played:
    """An episode of S steps. `rewards` (S,) are 0 from where it broke; `broken`: an action was not finite, or the
    simulation broke down. `qpos` (S + 1, 7 + J) is what happened until then, and the last such state after."""

    task: int
    rewards: np.ndarray
    broken: bool
    qpos: np.ndarray


@dataclass(frozen=True)
class EpisodeCfg:
    """How long episodes are, and how much their starts differ."""

    steps: int
    start_noise_rad: float
    seed: int


class RewardArena:
    """Worlds of a robot that acts for tasks. An episode's seed is its number among those of its task: episodes of one
    number start alike in all tasks, however many worlds there are."""

    partial_reset = True

    def __init__(self, env: OwnEnvironment, act: Act, cfg: EpisodeCfg):
        self._env, self._act, self._cfg = env, act, cfg
        self.num_worlds = env.num_worlds
        self._actions = np.zeros((env.num_worlds, len(env.joint_names)))

    def begin(self, worlds: np.ndarray, episodes: Sequence[Episode]) -> Any:
        rngs = [np.random.default_rng([self._cfg.seed, episode.seed]) for episode in episodes]
        motions, qpos, qvel = map(np.stack, zip(*map(self._first_state, rngs), strict=True))
        return self._env.begin(worlds, motions, rngs, (qpos, qvel))

    def step(self, observation: Any, items: np.ndarray, frames: np.ndarray) -> Any:
        found = to_host(self._act(observation, items))
        if found.shape != self._actions.shape:
            expected = self._actions.shape
            raise InputError(f"act gave actions of shape {found.shape}; expected {expected}: worlds and joints")
        self._actions = found.astype(np.float64)
        return self._env.step(found.astype(np.float32))[0]

    def read(self) -> dict[str, Any]:
        """A broken world's state is NaN."""
        worlds = self._env.worlds
        return {"qpos": self._env.honest(worlds.qpos), "qvel": worlds.qvel, "action": self._actions}

    def _first_state(self, rng: np.random.Generator) -> tuple[int, np.ndarray, np.ndarray]:
        """The first frame of a motion with a little noise on the joints, within their limits."""
        library, noise_rad = self._env.worlds.library, self._cfg.start_noise_rad
        motion = int(rng.integers(len(library)))
        at = int(library.offsets[motion])
        qpos, qvel = library.frames.qpos[at].copy(), library.frames.qvel[at].copy()
        shaken = qpos[7:] + rng.uniform(-noise_rad, noise_rad, len(qpos) - 7)
        low, high = self._env.worlds.robot.joint_range.T
        qpos[7:] = np.clip(shaken, np.minimum(low, qpos[7:]), np.maximum(high, qpos[7:]))
        return motion, qpos, qvel


def play(
    env: OwnEnvironment, episodes: Sequence[Episode], act: Act, rewards: Sequence[TaskReward], cfg: EpisodeCfg
) -> list[Played]:
    """All episodes, in their order. What happens in one depends on its number, its task and the agent: not on how many
    worlds there are."""
    stage, lengths = RewardArena(env, act, cfg), np.full(len(rewards), cfg.steps + 1)
    finished = run_episodes(stage, episodes, lengths, np.arange(stage.num_worlds))
    return [_played(one, rewards[one.episode.item]) for one in finished]


def _played(one: EndedEpisode, reward: TaskReward) -> Played:
    qpos, qvel, action = one.fields["qpos"], one.fields["qvel"], one.fields["action"]
    sound = int(np.isfinite(qpos).all(axis=1).sum())
    qpos[sound:] = qpos[sound - 1]
    earned = np.zeros(len(qpos) - 1)
    if sound > 1:
        earned[: sound - 1] = reward(qpos[1:sound], qvel[1:sound], action[1:sound])
    return Played(one.episode.item, earned, sound < len(qpos), qpos)


def standing_library(robot: Robot, dt_s: float) -> MotionLibrary:
    """One motion: standing still in the default pose."""
    qpos, qvel = np.tile(robot.default_qpos, (2, 1)), np.zeros((2, robot.model.nv))
    return MotionLibrary([Reference(name="stand", dt_s=dt_s, **vars(Frames.of(robot, qpos, qvel)))])
