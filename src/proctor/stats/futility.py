"""Whether it is worth going on: the chance that a sequential test will settle a difference by its maximum.

To stop for futility never adds a false difference, since it only keeps the test from finding one; it may be looked at
whenever one likes. What it costs is power, some points for a difference that would just be found (Lan, Simon and
Halperin 1982).
"""

from __future__ import annotations

import math

import numpy as np

from proctor.stats.spending import Spend, simulate_spending

STREAMS = 500
TENTHS = range(5, 10)
"""After so many tenths of the maximum the chance is looked at: earlier, what was seen says too little."""


def conditional_power(steps: np.ndarray, max_trials: int, alpha: float = 0.05, spend: Spend = "late") -> float:
    """The chance that `SpendingTest` settles a difference by its maximum, given what it has read: `steps` hold outcome
    a minus outcome b of every pair so far. Further pairs are drawn as they were seen, with half a pair added to those
    that a won, those that b won and the others, so that nothing is impossible. Of 500 seeded streams: its standard
    error is at most 2.3 points, 1.4 at 10 %."""
    seen = np.asarray(steps, dtype=np.int64)
    if seen.ndim != 1 or len(seen) > max_trials:
        raise ValueError(f"steps of shape {seen.shape}; expected one row of at most {max_trials}")
    counts = np.array([np.count_nonzero(seen == step) for step in (-1, 0, 1)]) + 0.5
    rng = np.random.Generator(np.random.PCG64(0))
    later = rng.choice([-1, 0, 1], (STREAMS, max_trials - len(seen)), p=counts / counts.sum())
    streams = np.concatenate([np.broadcast_to(seen, (STREAMS, len(seen))), later], axis=1)
    return float(np.mean(simulate_spending(streams, max_trials, alpha, spend) != 0))


def futility_looks(max_trials: int) -> frozenset[int]:
    """The numbers of pairs after which the chance to settle a difference is computed."""
    return frozenset(math.ceil(max_trials * tenth / 10) for tenth in TENTHS)
