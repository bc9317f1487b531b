"""Observations that are no arrays: text, sequences, graphs, and what a space of a user's own holds.

They travel to a policy as they are, in a list. What is not as its space says is a fault of the environment, the same in
this process and in another one, whatever a policy would make of it.
"""

from __future__ import annotations

import pickle
from typing import Any, Mapping

import numpy as np

from proctor_host import spaces
from proctor_host.values import NUMBERS, shown

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
