"""A step as one row of numbers.

A compiled environment writes all that a step gave to one row of float64. The rows of many worlds are a sheet, whose
columns are what a policy sees; the rows of many steps are a record. Neither costs anything per number in Python, which
next to a simulator that has just driven everything else out of the processor's caches is what counts.
"""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple, Sequence, Tuple, Union

import numpy as np

REWARD = 0
"""The cell of the reward in a row."""
TERMINATED = 1
"""The cell that says whether the episode ended."""
TRUNCATED = 2
"""The cell that says whether it was cut off."""
SUCCESS = 3
"""The cell of the success."""
HEAD = 4
"""How many cells come before those of the observation."""

Path = Tuple[Union[str, int], ...]


class Cells(NamedTuple):
    """Where an array lies in a row. Its numbers must be exact in float64."""

    at: slice
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    def column(self, rows: np.ndarray) -> np.ndarray:
        """(n, *shape) of n rows, an array of its own."""
        return rows[:, self.at].reshape(len(rows), *self.shape).astype(self.dtype)


class Sheet:
    """How the rows of a task are laid out: `HEAD`, then the leaves of the observation by their path, then the signals
    by name, in the order given; each with its shape and dtype."""

    def __init__(
        self,
        observation: Mapping[Path, tuple[tuple[int, ...], Any]],
        signals: Mapping[str, tuple[tuple[int, ...], Any]],
    ):
        self.width = HEAD
        self.observation = {path: self._cells(*kind) for path, kind in observation.items()}
        self.signals = {name: self._cells(*kind) for name, kind in signals.items()}

    def _cells(self, shape: tuple[int, ...], dtype: Any) -> Cells:
        start = self.width
        self.width += int(np.prod(shape, dtype=np.int64))
        return Cells(slice(start, self.width), shape, np.dtype(dtype))

    def rows(self, count: int) -> np.ndarray:
        """Rows to be written to."""
        return np.zeros((count, self.width))

    def leaves(self, rows: np.ndarray, paths: Sequence[Path]) -> list[np.ndarray]:
        """These leaves of the observations, a column each."""
        cells = self.observation
        return [cells[path].column(rows) for path in paths]
