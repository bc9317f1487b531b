"""Confidence sequences for one rate: intervals that hold it at every look and every stop, without a maximum.

A wealth that is multiplied by bets that are fair under a rate is a martingale; it exceeds 1/alpha at any time with
probability at most alpha (Ville). Mixing bets over a prior keeps this exactly. The rates whose wealth is below 1/alpha
form a confidence sequence: all its intervals hold the truth at once with probability 1 - alpha. The prior here is the
arcsine's (Krichevsky and Trofimov's), which costs half of log n.
"""

from __future__ import annotations

import math

import numpy as np

from proctor.stats.intervals import check_alpha


def rate_sequence(successes: np.ndarray, n: np.ndarray, alpha: float = 0.05) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper ends of the confidence sequence for one rate, at each of the looks. (0, 1) for n = 0; never of
    width 0."""
    check_alpha(alpha)
    s, n = np.broadcast_arrays(np.asarray(successes, np.float64), np.asarray(n, np.float64))
    limit = log_limit(s, n, alpha)
    rate = np.divide(s, n, out=np.full(s.shape, 0.5), where=n > 0)
    low = np.where(s == 0, 0.0, _crossing(s, n, limit, rate, 0.0))
    return low, np.where(s == n, 1.0, _crossing(s, n, limit, rate, 1.0))


def log_limit(successes: np.ndarray, n: np.ndarray, alpha: float) -> np.ndarray:
    """The log-likelihood that a rate must exceed to be in the confidence sequence."""
    from scipy.special import betaln

    return betaln(successes + 0.5, n - successes + 0.5) - math.log(math.pi) + math.log(alpha)


def log_likelihood(successes: np.ndarray, n: np.ndarray, rate: np.ndarray) -> np.ndarray:
    from scipy.special import xlog1py, xlogy

    return xlogy(successes, rate) + xlog1py(n - successes, -rate)


def _crossing(s: np.ndarray, n: np.ndarray, limit: np.ndarray, inside: np.ndarray, end: float) -> np.ndarray:
    """Where the log-likelihood falls to `limit` between the observed rate and an end, to the outside."""
    outside, inside = np.full(s.shape, end), inside.copy()
    for _ in range(60):
        centre = (outside + inside) / 2
        kept = log_likelihood(s, n, centre) > limit
        inside, outside = np.where(kept, centre, inside), np.where(kept, outside, centre)
    return outside
