"""Soft interval membership: the one building block of the reward tasks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

AT_MARGIN = 0.1
"""The value of a gaussian tolerance one margin outside the interval."""


@dataclass(frozen=True)
class Tolerance:
    """1 within [lower, upper], falling outside: with d the distance to the interval in margins,

    - gaussian: 0.1 ** (d * d), so 0.1 one margin outside, and never 0;
    - linear: max(0, 1 - d), so 0 from one margin on.

    The margin is positive, in the unit of the quantity; NaN gives 0, since a state that cannot be measured earns
    nothing.
    """

    lower: float
    upper: float
    margin: float
    shape: Literal["gaussian", "linear"] = "gaussian"

    def __post_init__(self) -> None:
        if not self.lower <= self.upper:
            raise ValueError(f"an interval has lower <= upper, not [{self.lower}, {self.upper}]")
        if not (self.margin > 0 and np.isfinite(self.margin)):
            raise ValueError(f"a margin is positive and finite, not {self.margin}")

    def __call__(self, values: np.ndarray) -> np.ndarray:
        """Of any shape, in [0, 1]."""
        values = np.asarray(values, np.float64)
        outside = np.maximum(np.maximum(self.lower - values, values - self.upper), 0.0) / self.margin
        soft = AT_MARGIN ** np.square(outside) if self.shape == "gaussian" else np.maximum(0.0, 1.0 - outside)
        return np.where(np.isnan(values), 0.0, soft)
