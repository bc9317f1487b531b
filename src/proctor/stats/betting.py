"""Tests by betting, which may be looked at after every pair and have no maximum.

Somebody starts with a wealth of 1 and bets on the sign of every difference before it is seen. If no bet favours either
side, the wealth ever reaches 1/alpha with probability at most alpha (Ville's inequality): the largest wealth so far
is evidence, and 1 over it a p-value that holds at every look.
"""

from __future__ import annotations

import numpy as np

from proctor.stats.significance import TestResult

STAKES = np.arange(1, 20) / 20
"""Shares of the wealth that are bet; the wealth is shared out among all of them, on both signs alike."""


def always_valid(differences: np.ndarray) -> TestResult:
    """Paired differences in reading order (or differences of independent trials that are paired in plan order): a
    p-value that holds whenever it is looked at, and whenever the trials were stopped because of it.

    It assumes that without a difference every sign is a fair coin, given all magnitudes: true where the two agents
    could be exchanged on every seed. Difference i is bet on in proportion to its magnitude over the largest one up to
    i, so that nothing need be known of their scale. The statistic is the natural logarithm of the largest wealth.
    """
    values = np.asarray(differences, dtype=np.float64)
    if values.ndim != 1:
        raise ValueError(f"differences of shape {values.shape}; expected one row of them")
    if not np.isfinite(values).all():
        raise ValueError("differences must be finite; leave out pairs without both values")
    if not values.any():
        return TestResult(1.0, "none: no pair differs", True, 0.0)
    largest = max(0.0, float(log_wealth(values).max()))
    return TestResult(float(np.exp(-largest)), "always-valid bets on signs", True, largest)


def log_wealth(differences: np.ndarray) -> np.ndarray:
    """The logarithm of the wealth after each difference; along the last axis of `(..., n)`."""
    values = np.asarray(differences, dtype=np.float64)
    scale = np.maximum.accumulate(np.abs(values), axis=-1)
    shares = np.divide(values, scale, out=np.zeros_like(values), where=scale > 0)
    total = np.full(values.shape, -np.inf)
    for stake in STAKES:
        for sign in (1, -1):
            total = np.logaddexp(total, np.cumsum(np.log1p(sign * stake * shares), axis=-1))
    return total - np.log(2 * len(STAKES))
