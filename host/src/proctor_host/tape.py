"""From steps to a record: the one place where what environments gave becomes the arrays of an episode.

A worker steps several slots in one round and writes what they gave as columns: one per quantity, with a row per slot.
Rounds of the same slots follow each other in a *stretch*. A trial's record is the list of the stretches that its steps
lie in; its arrays are cut out once, when it ends, many steps at a time. Worlds on a device have no stretches while they
run: their rounds come to the host in blocks (`proctor_host.blocks`), and what is cut out of these is one
(`proctor_host.cut`).
"""

from __future__ import annotations

from operator import attrgetter
from typing import Any, Iterable, Iterator, List, Mapping, Sequence, Tuple, Union

import numpy as np

from proctor_host.episode import RESERVED, Episode, Outcome

Column = Union[np.ndarray, List[Any]]
"""One quantity of a round, a row per slot."""
Said = Tuple[Tuple[str, ...], Tuple[Any, ...]]
"""The signals of one step that an environment gave by itself: their names and their values. They stay as they come:
columns of a round would cost more than the round where slots are few, and a trial needs columns over its steps."""
NOTHING_SAID: Mapping[int, Said] = {}
_shape = attrgetter("shape")
SHORT = 8
"""Rounds of the same slots below which putting them together costs more than picking each slot's rows."""
MOST_OPEN = 8
"""Sets of slots whose rounds are collected at the same time; more than that means that they hardly ever repeat."""


class RoundRecord:
    """One round: `own` are actions, rewards and success flags, `signals` those that came as columns, `said` those that
    environments gave by themselves, by row, `leaves` the observations after the step where they are recorded.
    Arrays are not to be changed afterwards."""

    __slots__ = ("leaves", "own", "said", "signals")

    def __init__(
        self,
        own: dict[str, Column],
        signals: Mapping[str, np.ndarray],
        leaves: Sequence[np.ndarray] = (),
        said: Mapping[int, Said] = NOTHING_SAID,
    ):
        self.own, self.signals, self.leaves, self.said = own, signals, leaves, said


class Stretch:
    """Rounds of the same slots with the same signals. Once it has been read nothing is added any more."""

    __slots__ = ("_columns", "count", "rounds")

    def __init__(self) -> None:
        self.count = 0
        self.rounds: list[RoundRecord] = []
        self._columns: dict[str, np.ndarray] = {}

    def add(self, made: RoundRecord) -> None:
        self.rounds.append(made)
        self.count += 1

    @property
    def short(self) -> bool:
        """Whether putting its rounds together costs more than picking single rows."""
        return self.count < SHORT

    def rows(self, row: int, first: int, stop: int) -> Iterator[tuple[str, Column]]:
        """What one slot has in the rounds from `first` to `stop`, by name; the i-th leaf is called `i`. They are put
        together once, for all slots."""
        if self.rounds:
            self._columns, self.rounds = dict(_stacked(self.rounds)), []
        for name, column in self._columns.items():
            yield name, column[first:stop, row]


def _stacked(rounds: Sequence[RoundRecord]) -> Iterator[tuple[str, np.ndarray]]:
    first = rounds[0]
    for name, column in first.own.items():
        found = [made.own[name] for made in rounds]
        yield name, np.stack(found) if isinstance(column, np.ndarray) else np.array(found)
    for name in first.signals:
        yield SIGNAL + name, np.stack([made.signals[name] for made in rounds])
    for i in range(len(first.leaves)):
        yield str(i), np.stack([made.leaves[i] for made in rounds])


def _picked(loose: Sequence[tuple[RoundRecord, int]]) -> Iterator[tuple[str, Column]]:
    """What one slot has in single rounds, in each of which it has another row; named as in a stretch."""
    first, _ = loose[0]
    for name in first.own:
        yield name, _stack(name, [made.own[name][row] for made, row in loose])
    for name in dict.fromkeys(name for made, _ in loose for name in made.signals):
        yield SIGNAL + name, _stack(name, [made.signals[name][row] for made, row in loose if name in made.signals])
    for i in range(len(first.leaves)):
        yield str(i), _stack(str(i), [made.leaves[i][row] for made, row in loose])


def _over_steps(said: Sequence[Said]) -> Iterator[tuple[str, Sequence[Any]]]:
    """The values of each signal that an environment gave by itself, in the order of its steps."""
    if not said:
        return
    names = said[0][0]
    if all([one[0] is names or one[0] == names for one in said]):
        for name, values in zip(names, zip(*[one[1] for one in said])):
            yield SIGNAL + name, values
        return
    found: dict[str, list[Any]] = {}
    for one in said:
        for name, value in zip(*one):
            found.setdefault(SIGNAL + name, []).append(value)
    yield from found.items()


SIGNAL = "signal "
"""What the names of signals begin with in a stretch."""


class Tape:
    """The rounds of one group of worlds."""

    def __init__(self) -> None:
        self._open: dict[Any, Stretch] = {}
        self._last: Stretch | None = None

    def write(self, slots: tuple[int, ...], records: Mapping[int, Record], made: RoundRecord) -> None:
        """Write a round of these slots; `records` has the record of each slot's trial."""
        columns = made.signals
        key = (slots, tuple(columns), tuple([column.shape[1:] for column in columns.values()])) if columns else slots
        stretch = self._open.get(key)
        if stretch is None:
            if len(self._open) >= MOST_OPEN:
                self._open.clear()
            stretch = self._open[key] = Stretch()
        if stretch is not self._last:
            for row, slot in enumerate(slots):
                records[slot].go_on(stretch, row)
            self._last = stretch
        stretch.add(made)
        for row, told in made.said.items():
            records[slots[row]].said.append(told)

    def cut(self) -> None:
        """A trial has ended: its slot's next trial begins a new stretch."""
        self._open.clear()
        self._last = None


class Record:
    """The record of one trial, while it runs. `labels` names the observation's leaves; empty: observations are not
    kept."""

    __slots__ = ("_dt_s", "_first", "_nothing", "_parts", "constants", "labels", "said")

    def __init__(self, action_shape: tuple[int, ...], action_dtype: Any, dt_s: float | None, labels: Sequence[str]):
        self._dt_s, self.labels = dt_s, tuple(labels)
        self._nothing = np.empty((0, *action_shape), action_dtype)
        self.constants: dict[str, np.ndarray] = {}
        self._first: list[np.ndarray] = []
        self._parts: list[tuple[Any, int, int, int]] = []
        """Stretch, row, first round and, once another stretch follows, the round behind the last."""
        self.said: list[Said] = []
        """The signals that the environment gave by itself, step by step."""

    def keep(self, constants: Mapping[str, Any]) -> None:
        """Keep what the environment says once per trial. Raises ValueError for what cannot be recorded."""
        for name, value in constants.items():
            array = value if _never_changes(value) else np.array(value)
            if name in RESERVED or array.dtype.hasobject:
                why = "that name is taken" if name in RESERVED else "only numbers and text can be recorded"
                raise ValueError(f'the constant "{name}" ({type(value).__name__}) cannot be kept: {why}')
            self.constants[name] = array

    def observe(self, leaves: Sequence[np.ndarray]) -> None:
        """Keep the first observation, where observations are kept."""
        if self.labels:
            self._first = [np.array(leaf) for leaf in leaves]

    def go_on(self, stretch: Stretch, row: int) -> None:
        """The next steps are in this row of this stretch, from its next made on."""
        if self._parts:
            last, at, first, _ = self._parts[-1]
            if last is stretch:
                return
            self._parts[-1] = (last, at, first, last.count)
        self._parts.append((stretch, row, stretch.count, -1))

    def lies_in(self, stretch: Any, row: int, first: int, stop: int) -> None:
        """The steps are in this row of this stretch, in the rounds from `first` to `stop`."""
        if stop > first:
            self._parts.append((stretch, row, first, stop))

    def episode(self, outcome: Outcome, ended: tuple[bool, bool], max_steps: int, task: str) -> Episode:
        """The finished episode. Raises ValueError where a signal cannot be made into an array."""
        return Episode(self.arrays(*ended), outcome, max_steps, task)

    def arrays(self, terminated: bool, truncated: bool) -> dict[str, np.ndarray]:
        """The record's arrays, see `Episode`."""
        found, n = self._collected()
        own = {name: _joined(name, found.pop(name), n) for name in ("actions", "rewards", "success") if n}
        own = own or {"actions": self._nothing, "rewards": np.zeros(0), "success": np.zeros(0, bool)}
        flags = np.zeros((2, n), bool)
        if n:
            flags[:, -1] = terminated, truncated
        kept = {}
        for i, label in enumerate(self.labels):
            rows = [leaf[None] for leaf in self._first[i : i + 1]] + found.pop(str(i), [])
            kept["observations" if label == "observation" else f"observations.{label}"] = np.concatenate(rows)
        found.update({name: [values] for name, values in _over_steps(self.said)})
        signals = {name[len(SIGNAL) :]: _joined(name[len(SIGNAL) :], parts, n) for name, parts in found.items()}
        for name in signals:
            if name in self.constants:
                raise ValueError(f'"{name}" is both a signal and a constant of the environment; rename one of them')
        return {
            "actions": own["actions"],
            "rewards": own["rewards"],
            "terminals": flags[0],
            "truncations": flags[1],
            "success": own["success"],
            "action_dt_s": np.array(np.nan if self._dt_s is None else self._dt_s, np.float64),
            **self.constants,
            **signals,
            **kept,
        }

    def _collected(self) -> tuple[dict[str, list[Any]], int]:
        """The pieces of every quantity in their order, and the number of steps."""
        found: dict[str, list[Any]] = {}
        loose: list[tuple[RoundRecord, int]] = []
        n = 0
        for stretch, row, first, stop in self._parts:
            last = stretch.count if stop < 0 else stop
            n += last - first
            if stretch.short:
                loose += [(made, row) for made in stretch.rounds[first:last]]
            elif last > first:
                _add(found, _picked(loose) if loose else ())
                _add(found, stretch.rows(row, first, last))
                loose = []
        _add(found, _picked(loose) if loose else ())
        return found, n


def _never_changes(value: Any) -> bool:
    """Whether this is an array whose numbers nobody can change."""
    return type(value) is np.ndarray and value.base is None and not value.flags.writeable


def _add(found: dict[str, list[Any]], pieces: Iterable[tuple[str, Column]]) -> None:
    for name, piece in pieces:
        found.setdefault(name, []).append(piece)


def _joined(name: str, pieces: Sequence[Any], n: int) -> np.ndarray:
    """All steps of one quantity in one array. The pieces are arrays, or one sequence of values."""
    have = sum(map(len, pieces))
    if have != n:
        raise ValueError(f'signal "{name}" has {have} values for {n} steps; give it at every step, NaN where unknown')
    if not isinstance(pieces[0], np.ndarray):
        return _stack(name, pieces[0])
    if len({piece.shape[1:] for piece in pieces}) > 1:
        raise ValueError(_shapeless(name))
    return np.concatenate(pieces)


def _shapeless(name: str) -> str:
    return f'signal "{name}" changes its shape from step to step; it must keep one'


def _stack(name: str, values: Sequence[Any]) -> np.ndarray:
    first = values[0]
    arrays = type(first) is np.ndarray and first.ndim and {*map(type, values)} == {np.ndarray}
    if arrays and len({*map(_shape, values)}) == 1:
        array = np.concatenate(values).reshape(len(values), *first.shape)
    else:
        try:
            array = np.array(values)
        except ValueError:
            raise ValueError(_shapeless(name)) from None
    if array.dtype.hasobject:
        raise ValueError(
            f'signal "{name}" has values of type {type(first).__name__}; only numbers and text can be recorded'
        )
    return array
