"""What observations and actions are, said without any other package.

An environment may declare its spaces with these classes, whose attributes are named as Gymnasium's, or with those of
Gymnasium or Gym, of any version: `described` makes these of those. They are what crosses the border between
interpreters; the engine makes Gymnasium's of them for policies. A space of another kind (graphs, sequences, one of a
user's own) is `Other`: it stays with its interpreter, and so do its observations.
"""

from __future__ import annotations

import collections
import math
from typing import Any, Callable, Iterable, Mapping, Sequence

import numpy as np


class Space:
    """Base of all. `shape` and `dtype` are None where a value is no array."""

    shape: Any = None
    dtype: Any = None

    def plain(self) -> dict[str, Any]:
        """The space as data: what `from_plain` reads."""
        raise NotImplementedError

    def contains(self, value: Any) -> bool:
        """Whether a value is as the space says."""
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and _same(self.plain(), other.plain())  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash(repr(self))

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={value!r}" for name, value in self.plain().items() if name != "kind")
        return f"{type(self).__name__}({inside})"


class Box(Space):
    """Arrays of one shape and dtype. `low` and `high` are arrays of that shape, infinite where nothing bounds."""

    def __init__(self, low: Any, high: Any, shape: Sequence[int] | None = None, dtype: Any = np.float32):
        self.dtype = np.dtype(dtype)
        found = np.shape(low) or np.shape(high) if shape is None else shape
        self.shape = tuple(int(n) for n in found)
        self.low, self.high = (np.array(np.broadcast_to(bound, self.shape), self.dtype) for bound in (low, high))

    @property
    def bounded_below(self) -> np.ndarray:
        return _finite(self.low)

    @property
    def bounded_above(self) -> np.ndarray:
        return _finite(self.high)

    def contains(self, value: Any) -> bool:
        array = np.asarray(value)
        number = array.dtype.kind in "biuf" and np.can_cast(array.dtype, self.dtype, "same_kind")
        fits = number and array.shape == self.shape
        return bool(fits and (array >= self.low).all() and (array <= self.high).all())

    def plain(self) -> dict[str, Any]:
        return {"kind": "Box", "low": self.low, "high": self.high, "shape": self.shape, "dtype": self.dtype.str}


class Discrete(Space):
    """Whole numbers from `start` to `start + n - 1`."""

    shape = ()

    def __init__(self, n: int, start: int = 0, dtype: Any = np.int64):
        self.n, self.start, self.dtype = int(n), int(start), np.dtype(dtype)

    def contains(self, value: Any) -> bool:
        array = np.asarray(value)
        return array.shape == () and array.dtype.kind in "iu" and bool(self.start <= array < self.start + self.n)

    def plain(self) -> dict[str, Any]:
        return {"kind": "Discrete", "n": self.n, "start": self.start, "dtype": self.dtype.str}


class MultiDiscrete(Space):
    """An array of whole numbers, each from its own `start` to `start + nvec - 1`."""

    def __init__(self, nvec: Any, start: Any = 0, dtype: Any = np.int64):
        self.dtype = np.dtype(dtype)
        self.nvec = np.array(nvec, self.dtype)
        self.start = np.array(np.broadcast_to(start, self.nvec.shape), self.dtype)
        self.shape = tuple(self.nvec.shape)

    def contains(self, value: Any) -> bool:
        array = np.asarray(value)
        fits = array.shape == self.shape and array.dtype.kind in "iu"
        return bool(fits and (array >= self.start).all() and (array < self.start + self.nvec).all())

    def plain(self) -> dict[str, Any]:
        return {"kind": "MultiDiscrete", "nvec": self.nvec, "start": self.start, "dtype": self.dtype.str}


class MultiBinary(Space):
    """An array of zeros and ones; `n` is its shape, or its length."""

    def __init__(self, n: Any, dtype: Any = np.int8):
        self.shape = (int(n),) if np.ndim(n) == 0 else tuple(int(i) for i in n)
        self.dtype = np.dtype(dtype)

    def contains(self, value: Any) -> bool:
        array = np.asarray(value)
        return array.shape == self.shape and bool(((array == 0) | (array == 1)).all())

    def plain(self) -> dict[str, Any]:
        return {"kind": "MultiBinary", "n": self.shape, "dtype": self.dtype.str}


class Dict(Space):
    """A value for each name, in this order; `spaces` is a mapping or pairs."""

    def __init__(self, spaces: Any):
        self.spaces = {key: described(space) for key, space in dict(spaces).items()}

    def contains(self, value: Any) -> bool:
        known = isinstance(value, Mapping) and value.keys() == self.spaces.keys()
        return known and all(space.contains(value[key]) for key, space in self.spaces.items())

    def plain(self) -> dict[str, Any]:
        return {"kind": "Dict", "spaces": [[key, space.plain()] for key, space in self.spaces.items()]}


class Tuple(Space):
    """Several values in order."""

    def __init__(self, spaces: Iterable[Any]):
        self.spaces = tuple(described(space) for space in spaces)

    def contains(self, value: Any) -> bool:
        fits = isinstance(value, (tuple, list)) and len(value) == len(self.spaces)
        return fits and all(space.contains(part) for space, part in zip(self.spaces, value))

    def plain(self) -> dict[str, Any]:
        return {"kind": "Tuple", "spaces": [space.plain() for space in self.spaces]}


class Text(Space):
    """Text of some length; `charset`: the characters that may occur, None for those that are usual."""

    def __init__(self, max_length: int, min_length: int = 1, charset: str | None = None):
        self.max_length, self.min_length, self.charset = int(max_length), int(min_length), charset

    def contains(self, value: Any) -> bool:
        fits = isinstance(value, str) and self.min_length <= len(value) <= self.max_length
        return fits and (self.charset is None or set(value) <= set(self.charset))

    def plain(self) -> dict[str, Any]:
        return {"kind": "Text", "max_length": self.max_length, "min_length": self.min_length, "charset": self.charset}


class Other(Space):
    """A space that has no description; `space` is the space itself. It can go to another process of the same
    interpreter only."""

    def __init__(self, space: Any):
        self.space = space

    def contains(self, value: Any) -> bool:
        return bool(self.space.contains(value))

    def plain(self) -> dict[str, Any]:
        return {"kind": "Other", "space": self.space}


MOST_NUMBERS = 1 << 28
"""Of an array that a description from elsewhere may speak of."""
ARRAYS = (Box, Discrete, MultiDiscrete, MultiBinary)
"""Spaces whose values are arrays."""
_KINDS = {kind.__name__: kind for kind in (*ARRAYS, Dict, Tuple, Text, Other)}
_FOREIGN = ("gymnasium", "gym")


def described(space: Any) -> Space:
    """This space, or what describes a space of Gymnasium's or Gym's, or of a class that derives from one of theirs."""
    if isinstance(space, Space):
        return space
    for known in type(space).__mro__:
        if known.__module__.partition(".")[0] in _FOREIGN and known.__name__ in _READERS:
            return _READERS[known.__name__](space)
    return Other(space)


def _text(space: Any) -> Text:
    characters = getattr(space, "characters", None)
    if not isinstance(characters, str):
        characters = "".join(sorted(getattr(space, "character_set", "")))
    return Text(space.max_length, space.min_length, characters or None)


_READERS: dict[str, Callable[[Any], Space]] = {
    "Box": lambda s: Box(s.low, s.high, s.shape, s.dtype),
    "Discrete": lambda s: Discrete(s.n, getattr(s, "start", 0), s.dtype or np.int64),
    "MultiDiscrete": lambda s: MultiDiscrete(s.nvec, getattr(s, "start", 0), s.dtype),
    "MultiBinary": lambda s: MultiBinary(s.shape, s.dtype),
    "Dict": lambda s: Dict(s.spaces),
    "Tuple": lambda s: Tuple(s.spaces),
    "Text": _text,
}


def from_plain(data: Mapping[str, Any]) -> Space:
    """The space that `plain` gave. Raises ValueError for what it never gives."""
    fields = dict(data)
    kind = _KINDS.get(fields.pop("kind", ""))
    if kind is None:
        raise ValueError(f"no space is described by {dict(data)!r}")
    shape = fields.get("shape", fields.get("n", ())) if kind in (Box, MultiBinary) else ()
    if math.prod(shape) > MOST_NUMBERS or (kind is Box and not np.shape(fields["low"]) == tuple(shape)):
        raise ValueError(f"a space of shape {shape} is larger than its description, or than {MOST_NUMBERS:,} numbers")
    if kind is Dict:
        return Dict(collections.OrderedDict((key, from_plain(space)) for key, space in fields["spaces"]))
    if kind is Tuple:
        return Tuple([from_plain(space) for space in fields["spaces"]])
    return kind(**fields)


def others(space: Space) -> list[Space]:
    """The spaces in this one that have no description."""
    if isinstance(space, Other):
        return [space]
    inside = (
        list(space.spaces.values()) if isinstance(space, Dict) else space.spaces if isinstance(space, Tuple) else ()
    )
    return [one for part in inside for one in others(part)]


def neutral_action(space: Any) -> Any:
    """Zeros where the space allows them, else the nearest valid value."""
    known = described(space)
    if isinstance(known, Box):
        return np.clip(np.zeros(known.shape, known.dtype), known.low, known.high)
    if isinstance(known, Discrete):
        return np.asarray(max(known.start, min(0, known.start + known.n - 1)), known.dtype)[()]
    if isinstance(known, MultiDiscrete):
        return np.clip(np.zeros_like(known.start), known.start, known.start + known.nvec - 1)
    if isinstance(known, MultiBinary):
        return np.zeros(known.shape, known.dtype)
    raise NotImplementedError(f"no neutral action is known for {space}; override dummy_action")


Sampler = Callable[["np.random.Generator"], Any]


def action_sampler(space: Any) -> Sampler:
    """A function that draws one action, uniform in the space. A Box that is unbounded on both sides gives a standard
    normal there, on one side a unit exponential from its bound. The space's own generator is not touched."""
    known = described(space)
    if isinstance(known, Box):
        return _box_sampler(known)
    if isinstance(known, Discrete):
        least, count, kind = known.start, known.n, known.dtype
        return lambda rng: np.asarray(least + rng.integers(count), kind)[()]
    if isinstance(known, MultiDiscrete):
        start, nvec, dtype = known.start, known.nvec, known.dtype
        return lambda rng: (start + rng.integers(nvec)).astype(dtype)
    if isinstance(known, MultiBinary):
        shape, binary = known.shape, known.dtype
        return lambda rng: rng.integers(2, size=shape).astype(binary)
    raise NotImplementedError(
        f"no random action is known for {space}; use a Box, Discrete, MultiDiscrete or MultiBinary"
    )


def random_action(space: Any, rng: np.random.Generator) -> Any:
    """One action, as `action_sampler` draws it."""
    return action_sampler(space)(rng)


def _box_sampler(space: Box) -> Sampler:
    if space.dtype.kind in "iu":
        return lambda rng: rng.integers(space.low, space.high, endpoint=True, dtype=space.dtype)
    below, above = space.bounded_below, space.bounded_above
    low = np.where(below, space.low, 0.0).astype(np.float64)
    high = np.where(above, space.high, 0.0).astype(np.float64)

    def bounded(rng: np.random.Generator) -> np.ndarray:
        share = rng.random(space.shape)
        drawn = (low * (1.0 - share) + high * share).astype(space.dtype)
        return np.minimum(np.maximum(drawn, space.low), space.high)

    def partly(rng: np.random.Generator) -> np.ndarray:
        tail = rng.standard_exponential(space.shape)
        drawn = np.select(
            [below & above, below, above], [bounded(rng), low + tail, high - tail], rng.standard_normal(space.shape)
        )
        return np.clip(drawn.astype(space.dtype), space.low, space.high)

    return bounded if (below & above).all() else partly


def _finite(bound: np.ndarray) -> np.ndarray:
    return np.isfinite(bound) if bound.dtype.kind == "f" else np.ones(bound.shape, bool)


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return np.array_equal(one, other)
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(_same(a, b) for a, b in zip(one, other))
    return bool(one == other)
