"""The last steps of each world, for policies with a memory of fixed length."""

from __future__ import annotations

import numpy as np


class History:
    """The last `length` pairs of observed state and action of n worlds: (n, length, width) float32, oldest first. Pairs
    from before the start of a trial are zero."""

    def __init__(self, n: int, length: int, width: int):
        self.rows = np.zeros((n, length, width), np.float32)

    def clear(self, worlds: np.ndarray) -> None:
        """A new trial in these worlds."""
        self.rows = self.rows.copy()
        self.rows[worlds] = 0.0

    def push(self, worlds: np.ndarray | slice, states: np.ndarray, actions: np.ndarray) -> None:
        """Append what was seen (k, S) and what was then done (k, J). Earlier arrays stay as they are."""
        rows = self.rows.copy()
        rows[worlds, :-1] = self.rows[worlds, 1:]
        rows[worlds, -1] = np.concatenate([states, actions], axis=-1)
        self.rows = rows
