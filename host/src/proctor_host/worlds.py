"""Worlds: what a worker steps. Some slots in one call, each giving a step or what it raised.

Three adapters make every kind of environment look alike: `one_by_one` (an `Env` for each slot), `rows` (a `SheetEnv`
for each slot, which writes a step as one row of numbers) and `batch` (one `BatchEnv` or `ColumnEnv` for all slots). An
adapter knows nothing of trials, policies, limits or records; what it gives is columns with a row per slot.

Observations that are no arrays (text, sequences, graphs, and what a space of a user's own holds) travel to a policy as
they are, in a list. What is not as its space says is a fault of the environment, the same in this process and in
another one, whatever a policy would make of it.
"""

from __future__ import annotations

import abc
import pickle
from dataclasses import dataclass
from typing import Any, Callable, Mapping, NamedTuple, Sequence

import numpy as np

from proctor_host import spaces
from proctor_host.cfg import TaskCfg
from proctor_host.environments import Step
from proctor_host.errors import BREAKS
from proctor_host.tape import NOTHING_SAID, Said
from proctor_host.task import Task
from proctor_host.values import NUMBERS, flag, number, shown

_KEPT = (np.ndarray, np.generic, bool, int, float)
"""Numbers that policies get as the environment gave them; a tensor or a list becomes an array."""


def as_space_says(space: Any, value: Any, name: str = "observation") -> Any:
    """The observation, without what its space does not speak of. Raises ValueError, with the key, where something is
    missing or of another kind."""
    space = spaces.described(space)
    if isinstance(space, spaces.Dict):
        _expect(isinstance(value, Mapping) and all(key in value for key in space.spaces), space, value, name)
        return {key: as_space_says(sub, value[key], _key(name, key)) for key, sub in space.spaces.items()}
    if isinstance(space, spaces.Tuple):
        _expect(isinstance(value, (tuple, list)) and len(value) == len(space.spaces), space, value, name)
        pairs = enumerate(zip(space.spaces, value))
        return tuple(as_space_says(sub, part, _key(name, i)) for i, (sub, part) in pairs)
    _expect(_fits(space, value), space, value, name)
    return np.asarray(value) if isinstance(space, spaces.ARRAYS) and not isinstance(value, _KEPT) else value


def _fits(space: spaces.Space, value: Any) -> bool:
    if isinstance(space, spaces.Text):
        return isinstance(value, str)
    if isinstance(space, spaces.ARRAYS):
        array = np.asarray(value)
        return array.dtype.kind in NUMBERS and array.shape == tuple(space.shape or ())
    other: Any = space.space if isinstance(space, spaces.Other) else space
    return _travels(value) and (type(other).__module__.startswith("gymnasium.") or bool(other.contains(value)))


def _travels(value: Any) -> bool:
    """Whether it can be sent to another process."""
    try:
        pickle.dumps(value)
    except Exception:
        return False
    return True


def _expect(fits: bool, space: spaces.Space, value: Any, name: str) -> None:
    if not fits:
        kind = type(space.space if isinstance(space, spaces.Other) else space).__name__
        raise ValueError(f"the environment gave {name} {shown(value)}; its space is a {kind}")


def _key(name: str, part: str | int) -> str:
    return str(part) if name == "observation" else f"{name}.{part}"


Maker = Callable[[TaskCfg, bool, int], Any]
"""Makes the environment of a task: whether frames will be asked for, and how many worlds it may have."""


@dataclass(frozen=True)
class Reset:
    """A trial that is to begin in a slot. `task` has what its agent brings along; `films`: frames will be asked for."""

    slot: int
    task: TaskCfg
    seed: int
    index: int
    films: bool


class Begun(NamedTuple):
    """What came of it: what the environment says once per trial, or what it raised."""

    constants: Mapping[str, Any]
    problem: BaseException | None
    seconds: float


class Given(NamedTuple):
    """What a step of some slots gave, a row for each. `faults` has what was raised instead, by row; the other fields of
    such a row mean nothing. There may be fewer rows than slots, where time ran out; the first slots have been stepped
    then. Observations are in the `seen` columns of the worlds."""

    reward: list[float]
    terminated: list[bool]
    truncated: list[bool]
    success: list[bool]
    signals: Mapping[str, np.ndarray]
    """Those that came as columns."""
    faults: dict[int, BaseException]
    seconds: list[float]
    said: Mapping[int, Said] = NOTHING_SAID
    """The signals that environments gave by themselves, by row."""

    def take(self, rows: list[int]) -> Given:
        """These rows alone; they have no faults."""
        signals = {name: column[rows] for name, column in self.signals.items()}
        reward, seconds = ([values[row] for row in rows] for values in (self.reward, self.seconds))
        flags = (self.terminated, self.truncated, self.success)
        terminated, truncated, success = ([values[row] for row in rows] for values in flags)
        said = {at: self.said[row] for at, row in enumerate(rows) if row in self.said}
        return Given(reward, terminated, truncated, success, signals, {}, seconds, said)


class Worlds(abc.ABC):
    """The environments of one task in a worker. `seen` holds the latest observation of every slot: an array
    `(slots, *shape)` per leaf, or a list of objects for a task without a layout."""

    task: Task
    seen: list[Any]
    in_one_call: bool
    """Whether a step takes every running slot at once."""

    @abc.abstractmethod
    def can_reset(self, running: int) -> bool:
        """Whether trials can begin while so many are running."""

    @abc.abstractmethod
    def reset(self, resets: Sequence[Reset]) -> list[Begun]:
        """Begin these trials; their first observations are in `seen` then."""

    @abc.abstractmethod
    def step(self, slots: Sequence[int], actions: np.ndarray, unseen: Sequence[bool] | None, until: float) -> Given:
        """Step these slots with a row of `actions` each. `unseen`: nobody looks at these slots' observations. Worlds
        that are stepped one by one stop at the time `until` (monotonic), but step at least one."""

    @abc.abstractmethod
    def success_known(self, slot: int) -> bool:
        """Whether anything says what success is in the trial of a slot."""

    @abc.abstractmethod
    def render(self, slot: int) -> np.ndarray:
        """The current frame of a slot, uint8 (height, width, 3)."""

    @abc.abstractmethod
    def discard(self, slot: int) -> None:
        """An attempt broke in this slot, or it goes to another task: its environment is not used again."""

    @abc.abstractmethod
    def close(self) -> None:
        """Let go of every environment."""

    def see(self, slot: int, observation: Any) -> None:
        """Write one slot's observation to its row of `seen`. Raises ValueError, with its key, where something is not as
        its space says."""
        layout = self.task.layout
        if layout is None:
            self.seen[slot] = as_space_says(self.task.observation, observation)
        elif (
            type(observation) is np.ndarray
            and observation.shape == layout.bare_shape
            and observation.dtype.kind in NUMBERS
        ):
            self.seen[0][slot] = observation
        else:
            for column, leaf in zip(self.seen, layout.split(observation)):
                column[slot] = leaf


def given_of(
    worlds: Worlds,
    slots: Sequence[int],
    steps: Sequence[Step | None],
    faults: dict[int, BaseException],
    seconds: list[float],
    unseen: Sequence[bool] | None = None,
) -> Given:
    """What the steps of slots came to; their observations are written to `seen`. A step that is None has its fault
    already. A value of the wrong kind is a fault of its slot."""
    said: dict[int, Said] = {}
    given = Given([], [], [], [], {}, faults, seconds, said)
    rewards, ends, cuts, successes = given[:4]
    see = worlds.see
    for row, step in enumerate(steps):
        reward, terminated, truncated, success = 0.0, False, False, False
        if step is not None:
            try:
                observation, reward, terminated, truncated, success, signals = step
                if unseen is None or not unseen[row]:
                    see(slots[row], observation)
                if type(reward) is not float:
                    reward = number("reward", reward)
                if type(terminated) is not bool:
                    terminated = flag("terminated", terminated)
                if type(truncated) is not bool:
                    truncated = flag("truncated", truncated)
                if type(success) is not bool:
                    success = flag("success", success)
                if signals:
                    said[row] = tuple(signals), tuple(signals.values())
            except BREAKS as problem:
                faults[row] = problem
                reward = 0.0
        rewards.append(reward)
        ends.append(terminated)
        cuts.append(truncated)
        successes.append(success)
    return given
