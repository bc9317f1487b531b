"""A dict observation as the one array that a model was trained on: its entries, flattened, in the model's order."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from proctor.errors import InputError


class Ordering:
    """Entries by name; a dot leads into a nested dict (`privileged.tip`)."""

    def __init__(self, names: Sequence[str], observation: dict[str, Any]):
        self._paths = [name.split(".") for name in names]
        self._sizes = {
            task: sum(self._size(path, space, task) for path in self._paths) for task, space in observation.items()
        }

    def __call__(self, observation: Any) -> np.ndarray:
        """`(rows, n)`, float32."""
        parts = [functools.reduce(operator.getitem, path, observation) for path in self._paths]
        return np.concatenate([np.asarray(p, np.float32).reshape(len(p), -1) for p in parts], axis=1)

    def space(self, task: str) -> Any:
        """The space of one row."""
        from gymnasium import spaces

        return spaces.Box(-np.inf, np.inf, (self._sizes[task],), np.float32)

    def _size(self, path: list[str], space: Any, task: str) -> int:
        from gymnasium import spaces

        for name in path:
            if not isinstance(space, spaces.Dict) or name not in space.spaces:
                known = f"it has {', '.join(space.spaces)}" if isinstance(space, spaces.Dict) else f"it is {space}"
                raise InputError(
                    f'observation_order: the observation of task "{task}" has no "{".".join(path)}" ({known})'
                )
            space = space.spaces[name]
        if not isinstance(space, spaces.Box):
            raise InputError(
                f'observation_order: "{".".join(path)}" of task "{task}" is {space}; expected an array of numbers'
            )
        return math.prod(space.shape)
