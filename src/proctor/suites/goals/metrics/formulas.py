"""The seven dimensions of a goal model as plain functions of arrays.

Embeddings count by their direction only. Where several draws of a goal are given, the answer is the mean over them.
What cannot be said is None: never 0, never NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from proctor.errors import InputError
from proctor.suites.goals.metrics.embeddings import Embeddings, same_space, unit_rows
from proctor.suites.goals.metrics.pairwise import mean_pairwise, task_variance
from proctor.suites.goals.metrics.retrieval import nearest, share_of_own


def goal_accuracy(goals: Any, visuals: Any) -> float | None:
    """The mean cosine of a task's goals (d,) or (s, d) with its success embeddings (n, d). None without one of them.
    Raises SpaceMismatch where both are `Embeddings` of different spaces."""
    if isinstance(goals, Embeddings) and isinstance(visuals, Embeddings):
        same_space(goals, visuals, "goal accuracy")
    ours, theirs = _units(goals, 2, "goals"), _units(visuals, 2, "visuals")
    return float(ours.mean(axis=0) @ theirs.mean(axis=0)) if len(ours) and len(theirs) else None


def retrieval(goals: Sequence[Any], visuals: Sequence[Any], k: int = 5) -> float | None:
    """The mean over tasks of the share of a goal's k nearest success embeddings, of all tasks, that are of its own.
    `goals` has (d,) or (s, d) for each task, `visuals` (n, d). A task with fewer than k success embeddings is looked at
    with as many as it has; one without any is left out. None where all are."""
    if len(goals) != len(visuals):
        raise InputError(f"retrieval: goals of {len(goals)} tasks and visuals of {len(visuals)}; expected as many")
    shown = [_units(own, 2, "visuals") for own in visuals]
    asked = [_units(own, 2, "goals") for own in goals]
    sizes = np.array([len(own) for own in shown], dtype=np.int64)
    kept = [task for task, size in enumerate(sizes) if size and len(asked[task])]
    if not kept:
        return None
    every = np.concatenate([own for own in shown if len(own)])
    most = min(k, int(sizes.max()))
    draws = [len(asked[task]) for task in kept]
    found = nearest(np.concatenate([asked[task] for task in kept]), every, most)
    group, first = np.repeat(kept, draws), np.cumsum([0, *draws[:-1]])
    share = share_of_own(found, group, np.repeat(np.arange(len(sizes)), sizes), np.minimum(sizes, k)[group])
    return float((np.add.reduceat(share, first) / draws).mean())


def consistency(draws: Any) -> float | None:
    """The mean cosine over pairs of draws (s, d) for one text. None for fewer than two."""
    return _known(mean_pairwise(_units(draws, 2, "draws")))


def semantic_robustness(wordings: Any) -> float | None:
    """The mean cosine over pairs of wordings of one instruction: goals (w, d), or (w, s, d) with s draws of each, all
    drawn independently. None for fewer than two wordings."""
    own = _units(wordings, 3, "wordings") if np.ndim(wordings) == 3 else _units(wordings, 2, "wordings")[:, None]
    return _known(mean_pairwise(own.mean(axis=1)))


def discriminability(goals: Any) -> float | None:
    """1 minus the mean cosine over pairs of tasks: goals (t, d), or (t, s, d) with s draws of each. None for fewer
    than two tasks."""
    own = _units(goals, 3, "goals") if np.ndim(goals) == 3 else _units(goals, 2, "goals")[:, None]
    found = _known(mean_pairwise(own.mean(axis=1)))
    return None if found is None else max(0.0, 1 - found)


def goal_variance(goals: Any) -> float | None:
    """The mean over dimensions of the variance over tasks of the directions of goals (t, d) or (t, s, d); 1 / d at
    most. None for fewer than two tasks."""
    own = _units(goals, 3, "goals") if np.ndim(goals) == 3 else _units(goals, 2, "goals")[:, None]
    return task_variance(own) if len(own) > 1 else None


def quality_gap(visual: Any, prior: Any) -> float | None:
    """The success rate with visual goals minus the one with the prior's, of trials (n,) on the same seeds. None
    without trials."""
    won, ours = (np.asarray(values, dtype=np.float64) for values in (visual, prior))
    if won.shape != ours.shape or won.ndim != 1:
        raise InputError(f"quality gap: outcomes {won.shape} and {ours.shape}; expected two of one length, in pairs")
    return float((won - ours).mean()) if len(won) else None


def _units(given: Any, axes: int, name: str) -> np.ndarray:
    """Directions in double precision; a single vector is a row."""
    array = np.asarray(given.vectors if isinstance(given, Embeddings) else given, dtype=np.float64)
    array = array[None] if array.ndim == 1 and axes == 2 and array.size else array
    if array.size == 0 and len(array) == 0:
        return array.reshape(0, 1)
    if array.ndim != axes:
        raise InputError(f"{name} have the shape {array.shape}; expected {axes} axes, the last one the embedding")
    return unit_rows(array, name)


def _known(value: np.ndarray) -> float | None:
    return None if np.isnan(value) else float(value)
