"""Which resamples are drawn: seeded, stratified or hierarchical, the same on any number of threads."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from proctor.stats.aggregates import CODES, Aggregate

DRAWS_PER_THREAD = 4_000_000
"""Fewer are not worth another thread."""


@dataclass(frozen=True, slots=True)
class Resampling:
    """`stratified`: new trials of the same tasks. `hierarchical`: new tasks, too, drawn from those there are.
    `threads` None: as many as there are cores, where it is worth it; the number changes no bit of the result."""

    n_resamples: int = 2000
    seed: int = 0
    scheme: Literal["stratified", "hierarchical"] = "stratified"
    threads: int | None = None

    def __post_init__(self) -> None:
        if self.n_resamples < 1:
            raise ValueError(f"{self.n_resamples} resamples; at least one is needed")
        if self.threads is not None and self.threads < 1:
            raise ValueError(f"{self.threads} threads; at least one is needed")

    @property
    def tasks_too(self) -> bool:
        return self.scheme == "hierarchical"

    def stream_keys(self, second: bool = False) -> np.ndarray:
        """Keys of the streams for tasks and for values; `second`: for the values of another, independent sample."""
        drawn = np.random.SeedSequence(self.seed).generate_state(3, np.uint64)
        return np.ascontiguousarray(drawn[::2] if second else drawn[:2])

    def fill(self, shape: tuple[int, ...], draws: int, kernel: Callable[..., Any], *arguments: Any) -> np.ndarray:
        """An array with a row of `shape` for each resample: `kernel(part, first, *arguments)` is called for consecutive
        parts of it, each on a thread. `draws` is the work for one row."""
        out = np.empty((self.n_resamples, *shape))
        threads = min(self._threads(len(out) * draws), len(out))
        if threads == 1:
            kernel(out, 0, *arguments)
            return out
        ends = [len(out) * i // threads for i in range(threads + 1)]
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(lambda i: kernel(out[ends[i] : ends[i + 1]], ends[i], *arguments), range(threads)))
        return out

    def _threads(self, draws: int) -> int:
        if self.threads is not None:
            return self.threads
        return max(1, min(len(os.sched_getaffinity(0)), draws // DRAWS_PER_THREAD))


@dataclass(frozen=True, slots=True)
class Pooled:
    """Strata side by side: stratum j is `values[offsets[j] : offsets[j + 1]]`."""

    values: np.ndarray
    offsets: np.ndarray

    @classmethod
    def of(cls, strata: Sequence[np.ndarray]) -> Pooled:
        sizes = [len(values) for values in strata]
        return cls(np.concatenate(strata).astype(np.float64), np.cumsum([0, *sizes], dtype=np.int64))

    @property
    def sizes(self) -> np.ndarray:
        return np.diff(self.offsets)

    def ranks(self) -> tuple[np.ndarray, np.ndarray]:
        """Where each value is in the ordered values, and these."""
        order = np.argsort(self.values, kind="stable")
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order))
        return rank, self.values[order]


def replicates(
    strata: Sequence[np.ndarray], aggregate: Aggregate, resampling: Resampling, second: bool = False
) -> np.ndarray:
    """The aggregate of every resample, `(n_resamples,)`. Strata of equal sizes get equal resamples for one seed, so
    replicates of paired samples may be subtracted from one another; `second`: of another, independent sample on the
    same tasks. No stratum may be empty."""
    from proctor.stats import kernels

    pooled = Pooled.of([aggregate.prepared(np.asarray(values, dtype=np.float64)) for values in strata])
    rank, ordered = pooled.ranks()
    arguments = (resampling.stream_keys(second), pooled.offsets, resampling.tasks_too, pooled.values, rank, ordered)
    out = resampling.fill((), len(pooled.values), kernels.statistics, *arguments, CODES[aggregate.kind])
    return aggregate.finished(out)
