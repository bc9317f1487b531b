"""The rollout of an evaluation: many motions in N worlds that step together.

Which world runs which episode at which step depends on lengths alone, never on what happens in the worlds, so it is
known on the host without asking a device. Worlds that can be reset one by one get the next episode as soon as theirs is
over; others go through the episodes in waves, each as long as its longest motion. An episode is measured on its own
length, whatever keeps its world busy afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from proctor.suites.tracking.metrics import Track
from proctor.training.lent import Fit, LentEnvironment, MotionSource, Starts
from proctor.training.tape import Tape, episode_track

FRAMES_AT_ONCE = 2_000_000
"""A pass records at most about this many frames, to bound the memory of its tape."""


class Driver(Protocol):
    """Turns observations of all worlds into actions."""

    def begin(self, worlds: np.ndarray, motions: np.ndarray, seeds: np.ndarray) -> None:
        """Episodes begin in these worlds."""
        ...

    def act(self, observation: Any, motions: np.ndarray, frames: np.ndarray) -> Any:
        """Actions of all worlds; world n is to reach frame `frames[n]` of motion `motions[n]`."""
        ...


@dataclass(frozen=True)
class Episode:
    """One motion, to be run once; what is not `counted` only keeps a world busy."""

    motion: int
    seed: int
    counted: bool = True


@dataclass(frozen=True)
class TrackedEpisode:
    """An episode with the world it ran in and what the agent did."""

    episode: Episode
    world: int
    track: Track


@dataclass(frozen=True)
class TrackingSetup:
    """What a rollout plays on."""

    env: LentEnvironment
    source: MotionSource
    fit: Fit
    driver: Driver
    lengths: np.ndarray
    """(M,) frames of each motion that are run."""


def run_episodes(setup: TrackingSetup, episodes: Sequence[Episode], worlds: np.ndarray) -> Iterator[TrackedEpisode]:
    """Run all episodes; the finished ones, pass by pass. `worlds` (N,) says in which order worlds are filled."""
    for part in _passes(setup, episodes):
        yield from _Pass(setup, part, worlds).run()


def _passes(setup: TrackingSetup, episodes: Sequence[Episode]) -> Iterator[list[Episode]]:
    """Episodes in the portions that are run together: a wave, or as much as one tape holds."""
    part: list[Episode] = []
    frames = 0
    most = len(episodes) if setup.env.partial_reset else setup.env.num_worlds
    for episode in episodes:
        if part and (len(part) == most or frames + setup.lengths[episode.motion] > FRAMES_AT_ONCE):
            yield part
            part, frames = [], 0
        part.append(episode)
        frames += int(setup.lengths[episode.motion])
    if part:
        yield part


class _Pass:
    """One pass: the bookkeeping of worlds as arrays (N,), and the loop."""

    def __init__(self, setup: TrackingSetup, episodes: Sequence[Episode], worlds: np.ndarray):
        self.setup, self.order = setup, worlds
        self.episodes = self._filled(episodes)
        self.motion_of = np.array([e.motion for e in self.episodes], np.int64)
        lengths = setup.lengths[self.motion_of]
        self.first_row = np.concatenate([[0], np.cumsum(lengths)])
        self.tape = Tape(int(self.first_row[-1]), setup.fit)
        self.world_of = np.zeros(len(self.episodes), np.int64)
        count = setup.env.num_worlds
        self.running = np.full(count, -1)
        """Which episode each world runs; -1: none that counts any more."""
        self.motion, self.frame = np.zeros(count, np.int64), np.zeros(count, np.int64)
        self.waiting = 0

    def _filled(self, episodes: Sequence[Episode]) -> list[Episode]:
        """Worlds that cannot be reset alone all need an episode: further ones run the same motions, uncounted."""
        spare = 0 if self.setup.env.partial_reset else self.setup.env.num_worlds - len(episodes)
        again = [episodes[i % len(episodes)] for i in range(spare)]
        return [*episodes, *(Episode(e.motion, e.seed, counted=False) for e in again)]

    def run(self) -> Iterator[TrackedEpisode]:
        setup = self.setup
        observation = self._fill(self.order)
        while (self.running >= 0).any():
            actions = setup.driver.act(observation, self.motion, self.frame + 1)
            observation, ended = setup.env.step(actions)
            self.frame += 1
            self._write(np.flatnonzero(self.running >= 0), ended)
            over = (self.running >= 0) & (self.frame >= setup.lengths[self.motion] - 1)
            if over.any():
                self.running[over] = -1
                if setup.env.partial_reset and self.waiting < len(self.episodes):
                    observation = self._fill(self.order[over[self.order]])
        host = self.tape.on_host()
        for i, episode in enumerate(self.episodes):
            if episode.counted:
                track = episode_track(host, int(self.first_row[i]), int(self.first_row[i + 1]))
                yield TrackedEpisode(episode, int(self.world_of[i]), track)

    def _fill(self, free: np.ndarray) -> Any:
        """Start the next episodes in free worlds, and write their first frames; the observations of all worlds."""
        worlds = free[: len(self.episodes) - self.waiting]
        which = np.arange(self.waiting, self.waiting + len(worlds))
        self.waiting += len(worlds)
        self.world_of[which], self.running[worlds] = worlds, which
        self.motion[worlds], self.frame[worlds] = self.motion_of[which], 0
        seeds = np.array([self.episodes[i].seed for i in which])
        state = self.setup.fit.outward(*self.setup.source.start(self.motion_of[which]))
        self.setup.driver.begin(worlds, self.motion_of[which], seeds)
        observation = self.setup.env.reset(Starts(worlds, self.motion_of[which], *state, seeds))
        self._write(worlds, None)
        return observation

    def _write(self, worlds: np.ndarray, ended: Any) -> None:
        rows = self.first_row[self.running[worlds]] + self.frame[worlds]
        self.tape.write(rows, worlds, self.setup.env.read(), ended)
