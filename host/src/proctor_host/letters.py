"""What a round of worlds on a device says of how their trials go on, in one piece: a *letter*.

A letter has rewards, flags, whether actions were valid, and the extremes of each part of the observation, which tell
whether its numbers are finite. It is some bytes for each world, sent when the round is queued and opened some rounds
later. Until then the device keeps what only a trial that ends is asked for: what it saw last, and what its policy had
answered.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Sequence

import numpy as np

from proctor_host.device_worlds import Stepped
from proctor_host.kit import Fetched, Kit
from proctor_host.recording import Sight
from proctor_host.task import Task

FLAGS = ("terminated", "truncated", "success", "invalid", "clipped")


class Look(NamedTuple):
    """Where observations are not finite: by world the number of the first leaf with NaN (from 1; 0: none), and whether
    there is infinity anywhere."""

    nan: np.ndarray
    infinite: np.ndarray


class Letter(NamedTuple):
    """By world. `odd`: the reward is not finite. `look` is None where every observation is finite."""

    reward: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray
    success: np.ndarray
    invalid: np.ndarray
    clipped: np.ndarray
    odd: np.ndarray
    look: Look | None


class Letters:
    """Writes and opens the letters of a task's worlds. The last `kept` rounds are remembered. `finite`: whether
    observations must be."""

    def __init__(self, kit: Kit, task: Task, worlds: int, kept: int, finite: bool):
        assert task.layout is not None
        self._kit, self._n, self._kept = kit, worlds, kept
        floats = [i for i, leaf in enumerate(task.layout.leaves) if leaf.dtype.kind == "f"] if finite else []
        self._floats = floats
        kinds = {f"{end}{i}": (task.layout.leaves[i].dtype, ()) for i in floats for end in ("least", "most")}
        self._looks = _Columns(kit, worlds, kinds)
        self._kinds = {**dict.fromkeys(FLAGS, (np.dtype(bool), ())), **kinds}
        self._columns: _Columns | None = None
        self._seen: list[list[Any]] = []
        self._given: dict[Any, list[Any]] = {}

    def send(self, number: int, stepped: Stepped, invalid: Any, clipped: Any) -> Fetched:
        """Send the letter of a round."""
        kit = self._kit
        if self._columns is None or self._columns.kinds["reward"][0] != kit.type_of(stepped.reward):
            self._columns = _Columns(kit, self._n, {"reward": (kit.type_of(stepped.reward), ()), **self._kinds})
        into = self._columns.arrays
        into["reward"][...] = stepped.reward
        into["terminated"][...] = stepped.terminated
        into["truncated"][...] = stepped.truncated
        into["success"][...] = stepped.success
        into["invalid"][...] = invalid
        into["clipped"][...] = clipped
        self._measure(stepped.leaves, into)
        while len(self._seen) < self._kept:
            self._seen.append([kit.copy(leaf) for leaf in stepped.leaves])
        for kept, leaf in zip(self._seen[number % self._kept], stepped.leaves):
            kept[...] = leaf
        return kit.fetch([self._columns.memory])

    def _measure(self, leaves: Sequence[Any], into: dict[str, Any]) -> None:
        for i in self._floats:
            flat = leaves[i].reshape((self._n, -1))
            self._kit.extremes(flat, into[f"least{i}"], into[f"most{i}"])

    def read(self, fetched: Fetched) -> Letter:
        """Open a letter."""
        assert self._columns is not None
        said = self._columns.read(fetched.get()[0])
        odd = ~np.isfinite(said["reward"])
        return Letter(reward=said["reward"], odd=odd, look=self._look(said), **{name: said[name] for name in FLAGS})

    def look_now(self, leaves: Sequence[Any]) -> Fetched:
        """Have a look at observations, for `renewed`."""
        self._measure(leaves, self._looks.arrays)
        return self._kit.fetch([self._looks.memory])

    def _look(self, said: dict[str, np.ndarray]) -> Look | None:
        ends = [(i, said[f"least{i}"], said[f"most{i}"]) for i in self._floats]
        if all([bool(np.isfinite(least).all() and np.isfinite(most).all()) for _, least, most in ends]):
            return None
        nan, infinite = np.zeros(self._n, np.int64), np.zeros(self._n, bool)
        for i, least, most in reversed(ends):
            nan[np.isnan(least)] = i + 1
            infinite |= np.isinf(least) | np.isinf(most)
        return Look(nan, infinite)

    def renewed(self, before: Look | None, fetched: Fetched, worlds: np.ndarray) -> Look | None:
        """What was seen before, with what these worlds show now that they have begun anew."""
        now = self._look(self._looks.read(fetched.get()[0]))
        if before is None and now is None:
            return None
        never = Look(np.zeros(self._n, np.int64), np.zeros(self._n, bool))
        old, new = before or never, now or never
        nan, infinite = old.nan.copy(), old.infinite.copy()
        nan[worlds], infinite[worlds] = new.nan[worlds], new.infinite[worlds]
        return Look(nan, infinite)

    def sights(self, number: int, worlds: Sequence[int]) -> list[Sight]:
        """What these worlds showed after one of the last rounds."""
        fetched = self._kit.fetch(self._seen[number % self._kept], np.array(worlds, np.int64))
        return [Sight(fetched, row) for row in range(len(worlds))]

    def note(self, number: int, who: Any, given: Any) -> None:
        """Remember what a policy has answered."""
        ring = self._given.get(who)
        if ring is None or ring[0].shape != given.shape or ring[0].dtype != given.dtype:
            ring = self._given[who] = [self._kit.copy(given) for _ in range(self._kept)]
        ring[number % self._kept][...] = given

    def given(self, number: int, who: Any, world: int) -> np.ndarray:
        """What it answered for a world in one of the last rounds. This waits for the device."""
        return self._kit.fetch([self._given[who][number % self._kept]], np.array([world], np.int64)).get()[0][0]


class _Columns:
    """Memory of the device with a column `(worlds,)` for each quantity, that goes to the host in one piece."""

    def __init__(self, kit: Kit, worlds: int, kinds: dict[str, Any]):
        self.kinds, self._worlds = kinds, worlds
        self._at: dict[str, int] = {}
        end = 0
        for name, (dtype, _) in kinds.items():
            self._at[name] = end
            end += -(-dtype.itemsize * worlds // 8) * 8
        self.memory = kit.bytes(max(end, 8))
        self.arrays = {
            name: kit.view(self.memory, dtype, (worlds,), (dtype.itemsize,), self._at[name])
            for name, (dtype, _) in kinds.items()
        }

    def read(self, memory: np.ndarray) -> dict[str, np.ndarray]:
        """The columns in a copy of the memory on the host."""
        return {
            name: np.ndarray((self._worlds,), dtype, memory, self._at[name]) for name, (dtype, _) in self.kinds.items()
        }
