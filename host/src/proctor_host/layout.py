"""How an observation lies in memory: the leaves of its space, in one fixed order.

A space made of arrays (Box, Discrete, MultiDiscrete, MultiBinary, and Dict or Tuple of these, nested) has one leaf per
array, with the space's dtype and shape. Every observation is written leaf by leaf in that dtype, whether it crosses a
process border or not, so a policy sees the same bytes either way. Other spaces (text, graphs, sequences) have no
layout: their observations travel as objects, and a batch of them is a list.

Which observations hold NaN is looked for after every step, so it must cost next to nothing. A NaN makes every sum NaN
that it enters, so one sum (of squares, where there are many) tells of a whole array. What else could make it so,
infinities of both signs, is ruled out by a second look.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Sequence

import numpy as np

from proctor_host import spaces
from proctor_host.values import NUMBERS, shown

_ALIGN = 64


@dataclass(frozen=True)
class Leaf:
    path: tuple[str | int, ...]
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    offset: int

    @property
    def label(self) -> str:
        return ".".join(str(part) for part in self.path) or "observation"


@dataclass(frozen=True)
class Layout:
    """Leaves in order, and how many bytes one observation takes (each leaf aligned to 64)."""

    leaves: tuple[Leaf, ...]
    nbytes: int
    bare_shape: tuple[int, ...] | None = None
    """Where the observation is one array: its shape."""
    shapes: dict[str | int, tuple[int, ...]] | None = field(default=None, compare=False, repr=False)
    """Where it is one array for each key: their shapes."""

    @property
    def flat(self) -> bool:
        """Whether an observation is one array, or a dict with one array for each name."""
        return self.bare_shape is not None or (self.shapes is not None and all(isinstance(k, str) for k in self.shapes))

    def split(self, observation: Any) -> list[np.ndarray]:
        """The observation's leaves as arrays. Raises ValueError, with its key, where one is missing, holds no numbers
        or does not have the space's shape."""
        if type(observation) is np.ndarray and self.bare_shape == observation.shape:
            if observation.dtype.kind in NUMBERS:
                return [observation]
        elif self.shapes is not None:
            try:
                found = [observation[key] for key in self.shapes]
            except (KeyError, IndexError, TypeError):
                found = [None] * len(self.shapes)
            for array, shape in zip(found, self.shapes.values()):
                if type(array) is not np.ndarray or array.shape != shape or array.dtype.kind not in NUMBERS:
                    break
            else:
                return found
        return [_leaf(leaf, observation) for leaf in self.leaves]

    def columns(self, observation: Any, rows: int) -> list[np.ndarray] | None:
        """The leaves of a batch of observations, each `(rows, *shape)`; None unless they are as their space says, in
        one array or one for each key."""
        found: list[Any]
        if self.bare_shape is not None:
            found = [observation]
        elif self.shapes is not None and isinstance(observation, dict):
            found = [observation.get(key) for key in self.shapes]
        else:
            return None
        for leaf, array in zip(self.leaves, found):
            if type(array) is not np.ndarray or array.shape != (rows, *leaf.shape) or array.dtype != leaf.dtype:
                return None
        return found

    def views(self, buffer: Any, offset: int) -> list[np.ndarray]:
        """Arrays over `buffer`, one per leaf, for one observation that starts at `offset`."""
        return [
            np.frombuffer(
                buffer, leaf.dtype, count=int(np.prod(leaf.shape, dtype=np.int64)), offset=offset + leaf.offset
            ).reshape(leaf.shape)
            for leaf in self.leaves
        ]

    def empty(self, rows: int) -> list[np.ndarray]:
        """A batch of observations to fill, one array `(rows, *shape)` per leaf."""
        return [np.empty((rows, *leaf.shape), leaf.dtype) for leaf in self.leaves]

    def join(self, leaves: Sequence[np.ndarray]) -> Any:
        """The leaves put back into the nesting of the space."""
        if self.leaves and self.leaves[0].path == ():
            return leaves[0]
        if self.shapes is not None and self.flat:
            return dict(zip(self.shapes, leaves))
        return _nest([(leaf.path, array) for leaf, array in zip(self.leaves, leaves)])


def _leaf(leaf: Leaf, observation: Any) -> np.ndarray:
    """One leaf of an observation, as an array. Raises ValueError, with its key, where it is not as its space says."""
    value = observation
    try:
        for part in leaf.path:
            value = value[part]
        array = value if type(value) is np.ndarray else np.asarray(value)
    except (KeyError, IndexError, TypeError, ValueError):
        raise ValueError(f"{leaf.label} cannot be read from the observation: found {shown(observation)}") from None
    if array.shape != leaf.shape:
        raise ValueError(f"{leaf.label} has shape {array.shape}; its space says {leaf.shape}")
    if array.dtype.kind not in NUMBERS:
        raise ValueError(f"{leaf.label} is {shown(value)}; its space has numbers of {leaf.dtype}")
    return array


def layout_of(space: Any) -> Layout | None:
    """The layout of a space; None where it is not made of arrays."""
    found: list[tuple[tuple[str | int, ...], np.dtype[Any], tuple[int, ...]]] = []
    if not _collect(spaces.described(space), (), found):
        return None
    leaves, offset = [], 0
    for path, dtype, shape in found:
        leaves.append(Leaf(path, dtype, shape, offset))
        nbytes = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        offset += -(-nbytes // _ALIGN) * _ALIGN
    flat = {leaf.path[0]: leaf.shape for leaf in leaves if len(leaf.path) == 1}
    return Layout(
        tuple(leaves),
        offset,
        leaves[0].shape if leaves and leaves[0].path == () else None,
        flat if flat and len(flat) == len(leaves) else None,
    )


def _collect(space: spaces.Space, path: tuple[str | int, ...], found: list[Any]) -> bool:
    if isinstance(space, spaces.Dict):
        return all(_collect(sub, (*path, key), found) for key, sub in space.spaces.items())
    if isinstance(space, spaces.Tuple):
        return all(_collect(sub, (*path, i), found) for i, sub in enumerate(space.spaces))
    if isinstance(space, spaces.ARRAYS):
        found.append((path, np.dtype(space.dtype), tuple(space.shape or ())))
        return True
    return False


def _nest(items: list[tuple[tuple[str | int, ...], Any]]) -> Any:
    if len(items) == 1 and items[0][0] == ():
        return items[0][1]
    groups: dict[str | int, list[Any]] = {}
    for path, value in items:
        groups.setdefault(path[0], []).append((path[1:], value))
    nested = {key: _nest(sub) for key, sub in groups.items()}
    if all(isinstance(key, int) for key in nested):
        return tuple(nested[i] for i in range(len(nested)))
    return nested


FEW = 16
"""Numbers that are added sooner by Python than numpy gets going."""
SMALL, SEVERAL = 1024, 4
"""Observations of so few numbers are looked at together, where there are more than several."""


class Nans:
    """Looks into the columns `seen` of a task, one array `(slots, *shape)` per leaf of its layout."""

    def __init__(self, layout: Layout, seen: Sequence[np.ndarray]):
        pairs = zip(layout.leaves, seen)
        self._leaves = [
            (leaf.label, column.reshape(len(column), -1)) for leaf, column in pairs if leaf.dtype.kind == "f"
        ]

    def found(self, slots: Sequence[int]) -> dict[int, str]:
        """The leaf that holds a NaN, by slot: nearly always nothing."""
        found: dict[int, str] = {}
        for name, column in self._leaves:
            if self._suspected(column, slots):
                found.update({slot: name for slot in slots if np.isnan(column[slot]).any()})
        return found

    @staticmethod
    def _suspected(column: np.ndarray, slots: Sequence[int]) -> bool:
        size = column.shape[1]
        if len(slots) > SEVERAL and size <= SMALL:
            rows = column if len(slots) == len(column) else column[slots]
            total = np.vdot(rows, rows)  # unlike `dot`, it does not warn of numbers whose squares are infinite
            return bool(total != total)
        for slot in slots:
            row = column[slot]
            total = sum(row.tolist()) if size <= FEW else np.vdot(row, row)
            if total != total:
                return True
        return False


def nan_in(name: str) -> str:
    """What is wrong with an observation that holds a NaN in this leaf."""
    where = "the observation" if name == "observation" else f'the observation "{name}"'
    return f"the environment gave NaN in {where}; if that is meant, the task can say nan_observations: allow"
