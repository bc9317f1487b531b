"""The k nearest of many visuals for many goals, in blocks: cosines are read once, while they are still in the cache,
and never kept.

For each block of visuals there is one matrix product; of its cosines only those above the k-th best so far are looked
at. Memory is that of one block, whatever the number of goals and visuals. Equal cosines are ranked by the visual's
number, so the answer does not depend on the size of blocks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

ROWS, COLUMNS = 1024, 2048
"""Goals and visuals of a block: 8 MiB of single-precision cosines."""
CROWD = 8
"""More candidates than so many times k, in the mean of a block's rows: a partition is cheaper than sorting them."""


@dataclass(frozen=True, eq=False)
class Nearest:
    """The nearest visuals of every goal, nearest first: numbers `index` (q, k) and cosines `cosine` (q, k)."""

    index: np.ndarray
    cosine: np.ndarray


def nearest(goals: np.ndarray, visuals: np.ndarray, k: int, block: tuple[int, int] = (ROWS, COLUMNS)) -> Nearest:
    """The k nearest of `visuals` (n, d) for each of `goals` (q, d), unit vectors. k is at most n."""
    if not 1 <= k <= len(visuals):
        raise ValueError(f"the {k} nearest of {len(visuals)} visuals; k lies between 1 and their number")
    dtype = np.result_type(goals, visuals)
    index, cosine = np.empty((len(goals), k), np.int64), np.empty((len(goals), k), dtype)
    rows, columns = block
    buffer = np.empty((min(rows, len(goals)), min(columns, len(visuals))), dtype)
    for first in range(0, len(goals), rows):
        part = goals[first : first + rows]
        found = _of_rows(part, visuals, k, buffer)
        index[first : first + rows], cosine[first : first + rows] = found.index, found.cosine
    return Nearest(index, cosine)


def _of_rows(goals: np.ndarray, visuals: np.ndarray, k: int, buffer: np.ndarray) -> Nearest:
    best = Nearest(np.full((len(goals), k), len(visuals)), np.full((len(goals), k), -np.inf, buffer.dtype))
    width = buffer.shape[1]
    for first in range(0, len(visuals), width):
        part = visuals[first : first + width]
        scores = np.matmul(goals, part.T, out=buffer[: len(goals), : len(part)])
        _merge(best, scores, first)
    return best


def _merge(best: Nearest, scores: np.ndarray, first: int) -> None:
    """Take what is better in a block of visuals, whose numbers are above all that came before, into `best`."""
    k = best.index.shape[1]
    hopeful = np.flatnonzero(scores.max(axis=1) > best.cosine[:, -1])
    if not len(hopeful):
        return
    block, floor = scores[hopeful], best.cosine[hopeful, -1:]
    candidates = block > floor
    if np.count_nonzero(candidates) > CROWD * k * len(hopeful) and block.shape[1] > k:
        candidates &= block >= np.partition(block, -k, axis=1)[:, -k, None]
    at, column = np.nonzero(candidates)
    row = np.concatenate([np.repeat(np.arange(len(hopeful)), k), at])
    cosine = np.concatenate([best.cosine[hopeful].ravel(), block[at, column]])
    index = np.concatenate([best.index[hopeful].ravel(), column + first])
    order = np.lexsort((index, -cosine, row))
    starts = np.searchsorted(row[order], np.arange(len(hopeful)))
    chosen = order[starts[:, None] + np.arange(k)]
    best.index[hopeful], best.cosine[hopeful] = index[chosen], cosine[chosen]


def share_of_own(
    found: Nearest, group_of_goal: np.ndarray, group_of_visual: np.ndarray, most: np.ndarray | None = None
) -> np.ndarray:
    """For each goal the share (q,) of its k nearest visuals that are of its own group; with `most` (q,), of the first
    so many of them, at least one."""
    own = group_of_visual[found.index] == group_of_goal[:, None]
    if most is None:
        return own.mean(axis=1)
    kept = np.arange(own.shape[1]) < most[:, None]
    return (own & kept).sum(axis=1) / np.minimum(most, own.shape[1])
