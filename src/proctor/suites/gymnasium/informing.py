"""The `info` of an environment, handed to policies beside the observation.

The observation of such a task is `{"observation": ..., "info": {...}}` (`proctor.spaces`). Which entries there are, and
their shapes, is seen in the `info` of a first reset; afterwards they are values of an observation like any other: they
cross to other processes, are recorded where observations are, and a missing one is a fault of the environment.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces

from proctor.errors import InputError
from proctor.spaces import INFO, OBSERVATION


class Informing:
    """Entries of `info` by name: those that were asked for, or (None) all that are numbers or arrays of numbers."""

    def __init__(self, wanted: Sequence[str] | None, info: Mapping[str, Any], env_id: str):
        found = {key: np.asarray(value) for key, value in info.items() if _is_numbers(value)}
        names = list(found) if wanted is None else list(wanted)
        self._id = env_id
        for name in names:
            if name not in found:
                said = f"has {type(info[name]).__name__} there" if name in info else f"has {', '.join(info) or 'none'}"
                raise InputError(
                    f'info: the first info of "{env_id}" has no numbers called "{name}" (it {said}); what a policy is '
                    "to see must be there from the first step on"
                )
        if not names:
            raise InputError(f'info: the first info of "{env_id}" has no numbers, so there is nothing to hand on')
        self._kinds = {name: _kind(found[name]) for name in names}

    def space(self, observation: spaces.Space[Any]) -> spaces.Dict:
        """Of the observation with `info` beside it."""
        entries: dict[str, spaces.Space[Any]] = {
            name: _box(dtype, shape) for name, (dtype, shape) in self._kinds.items()
        }
        return spaces.Dict({OBSERVATION: observation, INFO: spaces.Dict(entries)})

    def __call__(self, observation: Any, info: Mapping[str, Any]) -> dict[str, Any]:
        """The observation that a policy sees."""
        missing = [name for name in self._kinds if name not in info]
        if missing:
            raise ValueError(
                f'the environment gave no info["{missing[0]}"], which the first one had; hand on what every step has: '
                "info: [NAME, ...]"
            )
        told = {name: np.asarray(info[name], dtype) for name, (dtype, _) in self._kinds.items()}
        return {OBSERVATION: observation, INFO: told}


def _is_numbers(value: Any) -> bool:
    if not isinstance(value, bool | int | float | np.generic | np.ndarray | list | tuple):
        return False
    try:
        return np.asarray(value).dtype.kind in "fiub"
    except ValueError:
        return False


def _kind(value: np.ndarray) -> tuple[np.dtype[Any], tuple[int, ...]]:
    return (np.dtype(np.uint8) if value.dtype.kind == "b" else value.dtype), value.shape


def _box(dtype: np.dtype[Any], shape: tuple[int, ...]) -> spaces.Box:
    if dtype.kind == "f":
        return spaces.Box(-np.inf, np.inf, shape, dtype.type)
    limits = np.iinfo(dtype)
    return spaces.Box(int(limits.min), int(limits.max), shape, dtype.type)
