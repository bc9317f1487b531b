"""What is known of a success rate after its trials, as a distribution (Bayes).

Trials that succeed with an unknown rate turn a Beta prior into a Beta posterior. Jeffreys' prior, Beta(1/2, 1/2), is
the default: it favours no rate in any scale, and its intervals also cover as often as they say.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from proctor.stats.intervals import Interval, check_count, check_level

JEFFREYS = (0.5, 0.5)
BREAKS = (1e-17, 1e-12, 1e-8, 1e-5, 1e-3, 0.05, 0.5)
"""Tails at which an integral over a posterior is cut into pieces, on both sides of the median."""
NODES = 24
"""Points of Gauss and Legendre's rule in every piece."""


@dataclass(frozen=True, slots=True)
class Posterior:
    """A success rate is distributed as Beta(`a`, `b`). `a` and `b` are successes and failures, plus the prior's."""

    a: float
    b: float

    @property
    def mean(self) -> float:
        return self.a / (self.a + self.b)

    def quantile(self, p: float) -> float:
        from scipy.special import betaincinv

        return float(betaincinv(self.a, self.b, p))

    def interval(self, level: float = 0.95) -> Interval:
        """The rates between two equal tails: the rate lies there with this probability."""
        check_level(level)
        return Interval(self.quantile((1 - level) / 2), self.quantile((1 + level) / 2))

    def above(self, rate: float) -> float:
        """The probability that the success rate is above this one."""
        from scipy.special import betainc

        return float(betainc(self.b, self.a, 1 - min(max(rate, 0.0), 1.0)))

    def density(self, rates: np.ndarray) -> np.ndarray:
        """Of rates between 0 and 1; infinite at an end that the prior favours and no trial has ruled out."""
        from scipy.special import betaln, xlog1py, xlogy

        rates = np.asarray(rates, dtype=np.float64)
        return np.exp(xlogy(self.a - 1, rates) + xlog1py(self.b - 1, -rates) - betaln(self.a, self.b))


def posterior(successes: int, n: int, prior: tuple[float, float] = JEFFREYS) -> Posterior:
    """What so many successes in n trials leave of the prior Beta(a, b); n = 0 leaves all of it."""
    check_count(successes, n)
    if not min(prior) >= 0.5:
        raise ValueError(
            f"a prior Beta({prior[0]:g}, {prior[1]:g}); both numbers are at least 0.5: Jeffreys' prior is "
            "(0.5, 0.5), the uniform one (1, 1)"
        )
    return Posterior(successes + prior[0], n - successes + prior[1])


def probability_better(a: Posterior, b: Posterior) -> float:
    """The probability that the rate of a is above that of b, which are independent given their trials."""
    return probability_best([a, b])[0]


def probability_best(posteriors: Sequence[Posterior]) -> list[float]:
    """For each the probability that its rate is the highest; they are independent given their trials.

    The integral of one's density times the probabilities that all others lie below. It is taken over the angle whose
    squared sine is the rate, where densities are bounded; cut into pieces at quantiles of all, it is exact to 1e-11.
    """
    from scipy.special import betainc, betaln, xlogy

    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    cuts = np.array(sorted({0.0, math.pi / 2, *(cut for found in posteriors for cut in _cuts(found))}))
    half = np.diff(cuts)[:, None] / 2
    angles = cuts[:-1, None] + half * (1 + nodes)
    sine, cosine = np.sin(angles), np.cos(angles)
    below = [betainc(found.a, found.b, sine**2) for found in posteriors]
    chances = []
    for i, found in enumerate(posteriors):
        logs = xlogy(2 * found.a - 1, sine) + xlogy(2 * found.b - 1, cosine) - betaln(found.a, found.b)
        density = half * weights * np.exp(logs)
        others = np.prod([below[j] for j in range(len(below)) if j != i], axis=0)
        chances.append(float((density * others).sum() / density.sum()))
    return chances


def _cuts(of: Posterior) -> list[float]:
    """Angles of the quantiles; those of the upper half from the failures' side, where small tails are exact."""
    from scipy.special import betaincinv

    lower = np.arcsin(np.sqrt(betaincinv(of.a, of.b, BREAKS)))
    upper = math.pi / 2 - np.arcsin(np.sqrt(betaincinv(of.b, of.a, BREAKS)))
    return [*lower.tolist(), *upper.tolist()]
