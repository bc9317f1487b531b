"""How the trials of two agents on one task are put side by side."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from proctor.stats import Interval
from proctor.verdict.estimand import Measure, limits_of, possible
from proctor.verdict.trials import AgentTrials, TaskTrials


@dataclass(frozen=True, eq=False)
class Side:
    """One agent's part of a comparison on one task. `seed`: trials of one seed are not independent."""

    success: np.ndarray
    score: np.ndarray
    seed: np.ndarray

    @property
    def n(self) -> int:
        return len(self.seed)


@dataclass(frozen=True, eq=False)
class Meeting:
    """Two agents on one task. Paired: the i-th values of both sides had the same seed. `n_unscored` trials (pairs,
    where paired) have a side that the infrastructure broke; `n_single` trials have no partner."""

    task: str
    a: Side
    b: Side
    n_unscored: int
    n_single: int


def unpairable(a: AgentTrials, b: AgentTrials) -> str | None:
    """Why the trials of two agents cannot be paired; None where they can."""
    if not (a.pairs and b.pairs):
        return "trials do not say which of them began alike"
    common = [task for task in a.tasks if task in b.tasks]
    found = shared = fewest = 0
    for task in common:
        x, y = a.tasks[task], b.tasks[task]
        planned_x, planned_y = (np.concatenate([own.index, own.unscored, own.missing]) for own in (x, y))
        shared += len(np.intersect1d(planned_x, planned_y))
        fewest += min(len(planned_x), len(planned_y))
        _, at_x, at_y = np.intersect1d(x.index, y.index, return_indices=True)
        if x.seed is not None and y.seed is not None and (x.seed[at_x] != y.seed[at_y]).any():
            return "seeds differ"
        found += len(at_x)
    if not found:
        return "no seed was run by both"
    return None if 2 * shared >= fewest else f"only {shared:,} of {fewest:,} seeds are those of both"


def side_of(trials: TaskTrials, at: np.ndarray | slice = slice(None)) -> Side:
    return Side(trials.success[at], trials.score[at], trials.seeds[at])


def meet(a: TaskTrials, b: TaskTrials, task: str) -> Meeting:
    """Two agents on one task, their trials paired by index, in the order of seeds."""
    common, at_a, at_b = np.intersect1d(a.index, b.index, assume_unique=True, return_indices=True)
    order = np.argsort(a.seeds[at_a], kind="stable")
    at_a, at_b = at_a[order], at_b[order]
    finished_a, finished_b = (np.concatenate([x.index, x.unscored]) for x in (a, b))
    both = len(np.intersect1d(finished_a, finished_b))
    either = len(np.union1d(finished_a, finished_b))
    return Meeting(task, side_of(a, at_a), side_of(b, at_b), both - len(common), either - both)


def beside(a: TaskTrials, b: TaskTrials, task: str) -> Meeting:
    """Two agents on one task, each with its own trials."""
    return Meeting(task, side_of(a), side_of(b), len(a.unscored) + len(b.unscored), 0)


def bounds_on(
    a: TaskTrials, b: TaskTrials, measure: Measure, limits: Interval | None, paired: bool
) -> tuple[Interval, int] | None:
    """What a minus b could be on a task, whatever its unscored trials would have been, and over how many pairs
    (unpaired: trials of both); None where a task has nothing to say."""
    ends = limits_of(a, b, measure, limits)
    if ends is None:
        return None
    (index_a, low_a, high_a), (index_b, low_b, high_b) = (possible(x, measure, ends, x.unscored) for x in (a, b))
    if paired:
        _, at_a, at_b = np.intersect1d(index_a, index_b, assume_unique=True, return_indices=True)
        low_a, high_a, low_b, high_b = low_a[at_a], high_a[at_a], low_b[at_b], high_b[at_b]
    if not len(low_a) or not len(low_b):
        return None
    n = len(low_a) if paired else len(low_a) + len(low_b)
    return Interval(float(low_a.mean() - high_b.mean()), float(high_a.mean() - low_b.mean())), n
