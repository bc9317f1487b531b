"""Work that differs by task, on a batch whose rows are of several tasks."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from proctor.plan.trial import Trial


def by_task(trials: Sequence[Trial], compute: Callable[[str, np.ndarray], np.ndarray]) -> np.ndarray:
    """`compute(task, rows)` for each task of the batch, with the indices of its rows; the answers, one item
    per row, in batch order. Where the tasks' answers differ in shape or dtype, the result is an object array
    with one item per row."""
    rows_of: dict[str, list[int]] = {}
    for row, trial in enumerate(trials):
        rows_of.setdefault(trial.task, []).append(row)
    parts = {task: compute(task, np.asarray(rows)) for task, rows in rows_of.items()}
    if len(parts) == 1:
        return next(iter(parts.values()))
    kinds = {(part.shape[1:], part.dtype) for part in parts.values()}
    shape, dtype = kinds.pop() if len(kinds) == 1 else ((), np.dtype(object))
    done = np.empty((len(trials), *shape), dtype)
    for task, rows in rows_of.items():
        for row, item in zip(rows, parts[task], strict=True):
            done[row] = item
    return done
