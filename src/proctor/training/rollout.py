"""The rollout of an evaluation: many episodes in N worlds that step together. It is the one loop of all evaluations
inside a training loop; what begins in a world, what acts and what is written down is a `Arena`'s.

Which world runs which episode at which step depends on lengths alone, never on what happens in the worlds, so it is
known on the host without asking a device. Worlds that can be reset one by one get the next episode as soon as theirs is
over; others go through the episodes in waves, each as long as its longest episode. An episode is measured on its own
length, whatever keeps its world busy afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from proctor.policies.arrays import beside, to_host, zero_rows

FRAMES_AT_ONCE = 2_000_000
"""A pass records at most about this many frames, to bound the memory of its tape."""


@dataclass(frozen=True)
class Episode:
    """One motion (or task) by its index, to be run once; what is not `counted` only keeps a world busy."""

    item: int
    seed: int
    counted: bool = True


class Arena(Protocol):
    """N worlds with an agent in them. Arrays may be numpy arrays or torch tensors on any device."""

    @property
    def num_worlds(self) -> int: ...

    @property
    def partial_reset(self) -> bool:
        """False: `begin` starts all worlds or none."""
        ...

    def begin(self, worlds: np.ndarray, episodes: Sequence[Episode]) -> Any:
        """Episodes begin in these worlds (n,); the observations of all worlds."""
        ...

    def step(self, observation: Any, items: np.ndarray, frames: np.ndarray) -> Any:
        """Ask the agent, and step all worlds with its actions: world n is to reach frame `frames[n]` of `items[n]`. The
        observations of all worlds."""
        ...

    def read(self) -> Mapping[str, Any]:
        """What is written down of all worlds now, each entry (N, ...). The arrays may be reused by the next step."""
        ...


@dataclass(frozen=True)
class EndedEpisode:
    """An episode with the world it ran in and what was written down of it, each entry (frames, ...) on the host."""

    episode: Episode
    world: int
    fields: dict[str, np.ndarray]


def run_episodes(
    stage: Arena, episodes: Sequence[Episode], lengths: np.ndarray, worlds: np.ndarray
) -> Iterator[EndedEpisode]:
    """Run all episodes; the finished ones, pass by pass. `lengths` are the frames of each item that are run; `worlds`
    (N,) says in which order worlds are filled."""
    for part in _passes(stage, episodes, lengths):
        yield from _Pass(stage, part, lengths, worlds).run()


def _passes(stage: Arena, episodes: Sequence[Episode], lengths: np.ndarray) -> Iterator[list[Episode]]:
    """Episodes in the portions that are run together: a wave, or as much as one tape holds."""
    part: list[Episode] = []
    frames = 0
    most = len(episodes) if stage.partial_reset else stage.num_worlds
    for episode in episodes:
        if part and (len(part) == most or frames + lengths[episode.item] > FRAMES_AT_ONCE):
            yield part
            part, frames = [], 0
        part.append(episode)
        frames += int(lengths[episode.item])
    if part:
        yield part


class _Pass:
    """One pass: the bookkeeping of worlds as arrays (N,), the tape, and the loop."""

    def __init__(self, stage: Arena, episodes: Sequence[Episode], lengths: np.ndarray, worlds: np.ndarray):
        self.stage, self.lengths, self.order = stage, lengths, worlds
        self.episodes = self._filled(episodes)
        self.item_of = np.array([e.item for e in self.episodes], np.int64)
        self.first_row = np.concatenate([[0], np.cumsum(lengths[self.item_of])])
        self.tape: dict[str, Any] = {}
        """One row per frame of every episode, as the first state that is written: same kind of array, device, dtype."""
        self.world_of = np.zeros(len(self.episodes), np.int64)
        count = stage.num_worlds
        self.running = np.full(count, -1)
        """Which episode each world runs; -1: none that counts any more."""
        self.item, self.frame = np.zeros(count, np.int64), np.zeros(count, np.int64)
        self.waiting = 0

    def _filled(self, episodes: Sequence[Episode]) -> list[Episode]:
        """Worlds that cannot be reset alone all need an episode: further ones run the same items, uncounted."""
        spare = 0 if self.stage.partial_reset else self.stage.num_worlds - len(episodes)
        return [*episodes, *(replace(episodes[i % len(episodes)], counted=False) for i in range(spare))]

    def run(self) -> Iterator[EndedEpisode]:
        observation = self._fill(self.order)
        while (self.running >= 0).any():
            observation = self.stage.step(observation, self.item, self.frame + 1)
            self.frame += 1
            self._write(np.flatnonzero(self.running >= 0))
            over = (self.running >= 0) & (self.frame >= self.lengths[self.item] - 1)
            if over.any():
                self.running[over] = -1
                if self.stage.partial_reset and self.waiting < len(self.episodes):
                    observation = self._fill(self.order[over[self.order]])
        host = {name: to_host(buffer) for name, buffer in self.tape.items()}
        for i, episode in enumerate(self.episodes):
            if episode.counted:
                rows = slice(int(self.first_row[i]), int(self.first_row[i + 1]))
                fields = {name: values[rows] for name, values in host.items()}
                yield EndedEpisode(episode, int(self.world_of[i]), fields)

    def _fill(self, free: np.ndarray) -> Any:
        """Start the next episodes in free worlds, and write their first frames; the observations of all worlds."""
        worlds = free[: len(self.episodes) - self.waiting]
        which = np.arange(self.waiting, self.waiting + len(worlds))
        self.waiting += len(worlds)
        self.world_of[which], self.running[worlds] = worlds, which
        self.item[worlds], self.frame[worlds] = self.item_of[which], 0
        observation = self.stage.begin(worlds, [self.episodes[i] for i in which])
        self._write(worlds)
        return observation

    def _write(self, worlds: np.ndarray) -> None:
        """Copy what is read of `worlds` (n,) to the rows of their episodes."""
        rows = self.first_row[self.running[worlds]] + self.frame[worlds]
        for name, values in self.stage.read().items():
            picked = values[beside(values, worlds)]
            if name not in self.tape:
                self.tape[name] = zero_rows(picked, int(self.first_row[-1]))
            self.tape[name][beside(values, rows)] = picked
