"""Means of cosines between many directions, without a matrix of them.

Everything here takes unit vectors. The mean cosine of two sets is the product of their means, and the mean over the
pairs of one set follows from the length of its sum; so cosines that only enter a mean are never written down.
Sums are taken in double precision.
"""

from __future__ import annotations

import itertools

import numpy as np


def own_cosines(goals: np.ndarray, visuals: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """The cosine (n,) of every visual with the goal of its group. `goals` (t, d); `visuals` (n, d), where group i is
    rows offsets[i] to offsets[i + 1]. A goal shorter than 1, the mean of several draws, gives mean cosines."""
    out = np.empty(len(visuals), np.result_type(goals, visuals))
    sizes = np.diff(offsets)
    if len(sizes) and sizes[0] > 0 and (sizes == sizes[0]).all():
        grouped = visuals.reshape(len(sizes), sizes[0], -1)
        np.matmul(grouped, goals[:, :, None], out=out.reshape(len(sizes), sizes[0], 1))
        return out
    for i, (first, last) in enumerate(itertools.pairwise(offsets)):
        np.matmul(visuals[first:last], goals[i], out=out[first:last])
    return out


def mean_pairwise(units: np.ndarray) -> np.ndarray:
    """The mean cosine over the pairs of different rows, the upper triangle: `units` (..., n, d) -> (...). NaN for
    fewer than two rows."""
    n = units.shape[-2]
    if n < 2:
        return np.full(units.shape[:-2], np.nan)
    total = units.sum(axis=-2, dtype=np.float64)
    lengths = np.einsum("...ij,...ij->...i", units, units).sum(axis=-1, dtype=np.float64)
    return (np.einsum("...i,...i->...", total, total) - lengths) / (n * (n - 1))


def mean_pairwise_without(units: np.ndarray) -> np.ndarray:
    """`mean_pairwise` with each row left out in turn: (..., n, d) -> (..., n). NaN for fewer than three rows."""
    n = units.shape[-2]
    if n < 3:
        return np.full(units.shape[:-1], np.nan)
    total = units.sum(axis=-2, dtype=np.float64)
    squares = np.einsum("...ij,...ij->...i", units, units).astype(np.float64)
    with_others = np.einsum("...ij,...j->...i", units, total) - squares
    every = np.einsum("...i,...i->...", total, total) - squares.sum(axis=-1)
    return (every[..., None] - 2 * with_others) / ((n - 1) * (n - 2))


def task_variance(units: np.ndarray) -> float:
    """Mean over dimensions of the variance over tasks, `units` (t, s, d): s draws for each of t tasks; the mean over
    draws. Of unit vectors it follows from their mean cosine. NaN for fewer than two tasks."""
    t, _, d = units.shape
    apart = 1 - mean_pairwise(units.swapaxes(0, 1))
    return float(np.maximum(apart, 0).mean()) * (t - 1) / t / d


def task_variance_without(units: np.ndarray) -> np.ndarray:
    """`task_variance` with each task left out in turn, (t,). NaN for fewer than three tasks."""
    t, _, d = units.shape
    apart = 1 - mean_pairwise_without(units.swapaxes(0, 1))
    return np.maximum(apart, 0).mean(axis=0) * (t - 2) / (t - 1) / d
