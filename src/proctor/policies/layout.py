"""Arrays moved into the layout and the kind of number that a model wants: images with their channels first or last,
integers as they are, as floats, or as floats in 0 to 1."""

from __future__ import annotations

from typing import Any

import numpy as np

from proctor.errors import InputError
from proctor.policies.options import PolicyOptions
from proctor.policies.tree import tree_map

AXES = 3
"""Of an image."""


class Layout:
    """How every array of an observation is moved."""

    def __init__(self, options: PolicyOptions):
        self.wanted, self.integers = options.image_layout, options.integers

    def __call__(self, observation: Any) -> Any:
        return tree_map(self._moved, observation)

    def space(self, space: Any) -> Any:
        """The space of moved observations. Raises InputError where it cannot be told which axis counts channels."""
        from gymnasium import spaces

        if isinstance(space, spaces.Dict):
            return spaces.Dict([(key, self.space(sub)) for key, sub in space.spaces.items()])
        if isinstance(space, spaces.Tuple):
            return spaces.Tuple([self.space(sub) for sub in space.spaces])
        if not isinstance(space, spaces.Box):
            return space
        low, high = (self._moved(bound[None])[0] for bound in (space.low, space.high))
        return spaces.Box(low, high, dtype=low.dtype.type)

    def _moved(self, rows: np.ndarray) -> np.ndarray:
        if self.wanted != "as_is" and rows.ndim == AXES + 1:
            first = channels_first(rows.shape[1:])
            if first and self.wanted == "channels_last":
                rows = np.moveaxis(rows, 1, -1)
            elif not first and self.wanted == "channels_first":
                rows = np.moveaxis(rows, -1, 1)
        if self.integers == "keep" or rows.dtype.kind not in "iu":
            return np.ascontiguousarray(rows)
        floats = rows.astype(np.float32)
        return floats / np.float32(np.iinfo(rows.dtype).max) if self.integers == "unit" else floats


def channels_first(shape: tuple[int, ...]) -> bool:
    """Whether the first of three axes counts channels, or the last: the smaller of the two, which is also smaller than
    the middle one."""
    first, middle, last = shape
    if first != last and min(first, last) < middle:
        return first < last
    raise InputError(
        f"image_layout: in an observation of shape {shape} it cannot be told which axis counts channels; move it in a "
        "preprocessor"
    )
