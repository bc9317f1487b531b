"""How the trials of two agents are put side by side, and which of them are copies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from proctor.stats import Interval
from proctor.verdict.trials import AgentTrials, TaskTrials


@dataclass(frozen=True, eq=False)
class Side:
    """One agent's part of a comparison on one task, copies left out."""

    success: np.ndarray
    score: np.ndarray


@dataclass(frozen=True, eq=False)
class Meeting:
    """Two agents on one task. Paired: the i-th values of both sides had the same seed. `n_all` counts pairs before
    copies were left out (unpaired: the trials of both); `low` and `high` add up what the difference of success could
    be over `n_bounds` pairs, had the unscored trials gone either way."""

    task: str
    a: Side
    b: Side
    n_all: int
    n_unscored: int
    n_single: int
    bounds: Interval
    n_bounds: int

    @property
    def n_copies(self) -> int:
        return self.n_all - len(self.a.score)


def unpairable(a: AgentTrials, b: AgentTrials) -> str | None:
    """Why the trials of two agents cannot be paired; None where they can."""
    if not (a.pairs and b.pairs):
        return "trials do not say which of them began alike"
    common = [task for task in a.tasks if task in b.tasks]
    found = 0
    for task in common:
        x, y = a.tasks[task], b.tasks[task]
        if x.seed is None or y.seed is None:
            found += len(np.intersect1d(x.index, y.index, assume_unique=True))
            continue
        _, at_x, at_y = np.intersect1d(x.index, y.index, assume_unique=True, return_indices=True)
        if (x.seed[at_x] != y.seed[at_y]).any():
            return "seeds differ"
        found += len(at_x)
    return None if found else "no seed was run by both"


def meet(a: TaskTrials, b: TaskTrials, task: str) -> Meeting:
    """Two agents on one task, their trials paired by index."""
    common, at_a, at_b = np.intersect1d(a.index, b.index, assume_unique=True, return_indices=True)
    kept = _first_of_each(a.prints[at_a], b.prints[at_b])
    left, right = (Side(x.success[at][kept], x.score[at][kept]) for x, at in ((a, at_a), (b, at_b)))
    bounds, n_bounds = _paired_bounds(a, b)
    finished = len(np.union1d(np.concatenate([a.index, a.unscored]), np.concatenate([b.index, b.unscored])))
    return Meeting(task, left, right, len(common), n_bounds - len(common), finished - n_bounds, bounds, n_bounds)


def _first_of_each(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Places of pairs without those whose two episodes are copies of an earlier pair's; ascending."""
    known = (left != 0) & (right != 0)
    mixed = (left * np.uint64(0x9E3779B97F4A7C15)) ^ (right + np.uint64(0x7F4A7C15))
    _, first = np.unique(mixed[known], return_index=True)
    return np.sort(np.concatenate([np.flatnonzero(known)[first], np.flatnonzero(~known)]))


def _paired_bounds(a: TaskTrials, b: TaskTrials) -> tuple[Interval, int]:
    (index_a, low_a, high_a), (index_b, low_b, high_b) = _possible(a), _possible(b)
    _, at_a, at_b = np.intersect1d(index_a, index_b, assume_unique=True, return_indices=True)
    low, high = (low_a[at_a] - high_b[at_b]).sum(), (high_a[at_a] - low_b[at_b]).sum()
    return Interval(float(low), float(high)), len(at_a)


def _possible(trials: TaskTrials) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Indices of all finished trials, and the least and the most that their success could be."""
    open_ = len(trials.unscored)
    known = trials.success.astype(np.float64)
    index = np.concatenate([trials.index, trials.unscored])
    return index, np.concatenate([known, np.zeros(open_)]), np.concatenate([known, np.ones(open_)])


def distinct(trials: TaskTrials) -> Side:
    """An agent's own trials without copies of earlier ones."""
    kept = _first_of_each(trials.prints, np.where(trials.prints != 0, np.uint64(1), np.uint64(0)))
    return Side(trials.success[kept], trials.score[kept])
