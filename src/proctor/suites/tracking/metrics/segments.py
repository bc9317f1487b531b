"""Trials laid end to end, one row per frame, and what is reduced over the rows of each.

Sums are folded in pairs, in an order that depends on the place of a row within its own trial alone: a trial has the
same sum, to the bit, whatever lies beside it and wherever it is computed. Nothing is added by threads that race.

Arrays are numpy's, or torch's on any device; the functions used have one name and meaning in both.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from proctor_host.arrays import is_tensor

Array = Any
"""A numpy array or a torch tensor."""


def library(array: Array) -> Any:
    """The module whose functions take this array."""
    return sys.modules["torch"] if is_tensor(array) else np


def as_like(values: np.ndarray, like: Array) -> Array:
    """The values as an array of the same library, on the same device."""
    return sys.modules["torch"].as_tensor(values, device=like.device) if is_tensor(like) else values


def doubles(values: Array) -> Array:
    """In double precision; of flags, 1 where they hold and 0 elsewhere."""
    return values.double() if is_tensor(values) else np.asarray(values, np.float64)


def total(values: Array) -> Array:
    """Sum over the last axis, which is not empty. A row has the same sum whatever rows there are beside it: torch,
    which promises no such thing, is made to fold it in halves."""
    if not is_tensor(values):
        return values.sum(-1)
    while (n := values.shape[-1]) > 1:
        half = n // 2
        folded = values[..., :half] + values[..., n - half :]
        values = folded if n % 2 == 0 else library(values).concatenate([folded, values[..., half : half + 1]], -1)
    return values[..., 0]


def squared(vectors: Array) -> Array:
    """The squared Euclidean norm along the last axis."""
    return total(vectors * vectors) if is_tensor(vectors) else np.einsum("...d,...d->...", vectors, vectors)


def width_of(length: int) -> int:
    """The power of two that has room for so many rows. Trials of one width are best reduced together."""
    return 1 << max(length - 1, 0).bit_length()


class Segments:
    """N trials of these lengths (N,), which may be 0. Values `(rows,)` lie where `like` does, those of one trial behind
    those of another."""

    def __init__(self, lengths: np.ndarray, like: Array):
        self.lengths = np.asarray(lengths, np.int64)
        self.width = width_of(int(self.lengths.max(initial=0)))
        starts = np.concatenate([[0], np.cumsum(self.lengths)])
        places = np.arange(starts[-1]) - np.repeat(starts[:-1] - self.width * np.arange(len(lengths)), self.lengths)
        self._places = as_like(places, like)
        self._counts = as_like(self.lengths.astype(np.float64), like)
        self._columns = as_like(np.arange(self.width, dtype=np.float64), like)

    def table(self, values: Array, fill: float) -> Array:
        """The values `(N, width)`, a trial in each row, `fill` behind its end."""
        shape = (len(self.lengths) * self.width,)
        table = values.new_full(shape, fill) if is_tensor(values) else np.full(shape, fill, values.dtype)
        table[self._places] = values
        return table.reshape(-1, self.width)

    def sums(self, values: Array) -> Array:
        """The sum over each trial (N,), 0 of no rows. Neighbours are added first, then neighbours of these: the rows
        that are only there to fill up add zeros at the end, and change nothing."""
        table = self.table(values, 0.0)
        while table.shape[1] > 1:
            table = table[:, 0::2] + table[:, 1::2]
        return table[:, 0]

    def means(self, values: Array) -> Array:
        """The mean over each trial (N,); infinite of no rows, NaN where it is not finite."""
        xp = library(values)
        mean = self.sums(values) / xp.where(self._counts > 0, self._counts, 1.0)
        mean = xp.where(xp.isfinite(mean), mean, float("nan"))
        return xp.where(self._counts > 0, mean, float("inf"))

    def nothing(self, like: Array) -> Array:
        """No value for any trial (N,): infinite."""
        return as_like(np.full(len(self.lengths), np.inf), like)

    def maxima(self, values: Array) -> Array:
        """The largest value of each trial (N,), NaN where there is one."""
        return library(values).amax(self.table(values, -float("inf")), 1)

    def counts(self, flags: Array) -> Array:
        """How many rows of each trial are true (N,)."""
        return self.table(doubles(flags), 0.0).sum(1)

    def firsts(self, flags: Array) -> Array:
        """The first row of each trial that is true (N,), counted from 0; infinite where none is."""
        table = self.table(doubles(flags), 0.0)
        return library(flags).amin(library(flags).where(table > 0, self._columns, float("inf")), 1)

    def differences(self, order: int, like: Array) -> tuple[Segments, Array]:
        """Of the differences of this order between all rows that follow each other: which ones are within a trial, and
        the segments that these make."""
        owner = np.repeat(np.arange(len(self.lengths)), self.lengths)
        within = np.flatnonzero(owner[order:] == owner[:-order])
        return Segments(np.maximum(self.lengths - order, 0), like), as_like(within, like)
