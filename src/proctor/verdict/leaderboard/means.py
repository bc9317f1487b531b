"""Weighted means over tasks, as means of one sample: what the bootstrap and the tests of `proctor.stats` take.

A value of a task with the share s (of 1) and n values counts s / n; times the number N of values of all tasks it may be
pooled. Tasks with a single value show no spread: they are held fixed, which moves every pooled value by what they add.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Weighed:
    """`strata`: the values of the tasks with more than one, scaled and moved so that the mean of all of them is
    `value`, the weighted mean. `fixed`: the tasks with a single value. `missing`: those without any."""

    value: float | None
    strata: list[np.ndarray]
    fixed: tuple[str, ...]
    missing: tuple[str, ...]


def weigh(values: Mapping[str, np.ndarray], shares: Mapping[str, float]) -> Weighed:
    """The weighted mean of values by task. Tasks are taken in the order of their names, so that the order of a config
    changes no resample; tasks that count nothing are left out. None where a task has no value, or one is NaN."""
    tasks = [task for task in sorted(shares) if shares[task] > 0]
    missing = tuple(task for task in tasks if not len(values[task]) or np.isnan(values[task]).any())
    fixed = tuple(task for task in tasks if len(values[task]) == 1)
    if missing:
        return Weighed(None, [], fixed, missing)
    value = float(sum(shares[task] * values[task].mean() for task in tasks))
    varying = [task for task in tasks if task not in fixed]
    constant = float(sum(shares[task] * values[task][0] for task in fixed))
    total = sum(len(values[task]) for task in varying)
    strata = [values[task] * (shares[task] * total / len(values[task])) + constant for task in varying]
    return Weighed(value, strata, fixed, missing)
