"""Observations that are no arrays: text, sequences, graphs, and what a space of a user's own holds.

They travel to a policy as they are, in a list. What is not as its space says is a fault of the environment, the same in
this process and in another one, whatever a policy would make of it.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces

from proctor.values import NUMBERS, shown


def as_space_says(space: spaces.Space[Any], value: Any, name: str = "observation") -> Any:
    """The observation, without what its space does not speak of. Raises ValueError, with the key, where something is
    missing or of another kind."""
    if isinstance(space, spaces.Dict):
        _expect(isinstance(value, Mapping) and all(key in value for key in space.spaces), space, value, name)
        return {key: as_space_says(sub, value[key], _key(name, key)) for key, sub in space.spaces.items()}
    if isinstance(space, spaces.Tuple):
        _expect(isinstance(value, tuple | list) and len(value) == len(space.spaces), space, value, name)
        pairs = enumerate(zip(space.spaces, value, strict=True))
        return tuple(as_space_says(sub, part, _key(name, i)) for i, (sub, part) in pairs)
    _expect(_fits(space, value), space, value, name)
    return value


def _fits(space: spaces.Space[Any], value: Any) -> bool:
    if isinstance(space, spaces.Text):
        return isinstance(value, str)
    if isinstance(space, spaces.Box | spaces.Discrete | spaces.MultiDiscrete | spaces.MultiBinary):
        array = np.asarray(value)
        return array.dtype.kind in NUMBERS and array.shape == tuple(space.shape or ())
    return _travels(value) and (type(space).__module__.startswith("gymnasium.") or bool(space.contains(value)))


def _travels(value: Any) -> bool:
    """Whether it can be sent to another process."""
    try:
        pickle.dumps(value)
    except Exception:
        return False
    return True


def _expect(fits: bool, space: spaces.Space[Any], value: Any, name: str) -> None:
    if not fits:
        raise ValueError(f"the environment gave {name} {shown(value)}; its space is a {type(space).__name__}")


def _key(name: str, part: str | int) -> str:
    return str(part) if name == "observation" else f"{name}.{part}"
