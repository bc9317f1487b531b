"""One number for the scores of an agent: what is estimated, exactly, and how far each score moves it.

Scores come as strata, one array per task. With as many scores on every task, the values equal those of rliable's
`aggregate_mean`, `aggregate_median`, `aggregate_iqm` and `aggregate_optimality_gap`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

Kind = Literal["mean", "iqm", "trial_median", "task_median"]
CODES: dict[Kind, int] = {"mean": 0, "iqm": 1, "trial_median": 2, "task_median": 3}
"""As the compiled loops number them."""


@dataclass(frozen=True, slots=True)
class Aggregate:
    """`cap`: scores above it count as it, and the result is the cap minus the mean."""

    name: str
    kind: Kind
    cap: float | None = None

    def prepared(self, values: np.ndarray) -> np.ndarray:
        """The values that `kind` is taken of."""
        return values if self.cap is None else np.minimum(values, self.cap)

    def finished(self, result: np.ndarray) -> np.ndarray:
        """From the result of `kind` on prepared values to the aggregate."""
        return result if self.cap is None else self.cap - result

    def of(self, strata: Sequence[np.ndarray]) -> float:
        """The aggregate of these scores. No stratum may be empty."""
        prepared = [self.prepared(np.asarray(values, dtype=np.float64)) for values in strata]
        return float(self.finished(np.asarray(_POINT[self.kind](prepared))))

    def influence(self, pooled: np.ndarray) -> np.ndarray | None:
        """How the aggregate moves with a little more weight on each value, up to a constant; None where that is
        not smooth (medians)."""
        values = self.prepared(pooled)
        if self.kind == "mean":
            return values if self.cap is None else -values
        if self.kind == "iqm":
            ordered, cut = np.sort(values), len(values) // 4
            return 2 * np.clip(values, ordered[cut], ordered[len(values) - 1 - cut])
        return None


def _middle_mean(strata: Sequence[np.ndarray]) -> float:
    ordered = np.sort(np.concatenate(strata))
    cut = len(ordered) // 4
    return float(ordered[cut : len(ordered) - cut].mean())


_POINT = {
    "mean": lambda strata: np.concatenate(strata).mean(),
    "iqm": _middle_mean,
    "trial_median": lambda strata: np.median(np.concatenate(strata)),
    "task_median": lambda strata: np.median([values.mean() for values in strata]),
}

MEAN = Aggregate("mean", "mean")
"""Of all scores."""
IQM = Aggregate("interquartile mean", "iqm")
"""The mean of the middle half of all scores: a quarter, rounded down, is cut off at each end."""
MEDIAN = Aggregate("median of the tasks' means", "task_median")
"""The median over tasks of their means; with one task it is the mean."""
TRIAL_MEDIAN = Aggregate("median", "trial_median")
"""Of all scores."""


def optimality_gap(target: float = 1.0) -> Aggregate:
    """By how much scores fall short of the target, in the mean; what exceeds it makes up for nothing."""
    return Aggregate(f"optimality gap to {target:g}", "mean", target)
