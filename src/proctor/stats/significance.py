"""Tests of a difference between two agents: exact where that can be computed, and named by what was computed."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from proctor.stats import flips
from proctor.stats.intervals import Discordance, check_count
from proctor.stats.resampling import Resampling

BARNARD_LIMIT = 200
"""Trials per arm up to which Barnard's test is computed; with unequal arms, the root of their product."""
LARGE_ARM = 100
"""Trials of the smaller arm from which the score test is as good as an exact one."""
EXACT_FLIPS = 20
"""Differences other than 0 up to which all signs are tried."""
DRAWN_FLIPS = 20_000
"""Differences up to which signs are drawn; with more, the sum of flipped differences is normal to what is read off."""
WHOLE = 30_000
"""Tosses of a coin up to which probabilities are computed in whole numbers."""
RELATIVE_TIE = 1e-9
"""Statistics that differ by less are equal: they would be, without rounding."""


@dataclass(frozen=True, slots=True)
class TestResult:
    """A two-sided p-value, and the test that gave it. `exact`: no approximation, the error rate is kept for every n."""

    __test__ = False

    p_value: float
    method: str
    exact: bool
    statistic: float


def discordance(a: np.ndarray, b: np.ndarray) -> Discordance:
    """Outcomes of the same seeds, success or not, counted."""
    a, b = np.asarray(a, dtype=bool), np.asarray(b, dtype=bool)
    if a.shape != b.shape:
        raise ValueError(f"{a.size} outcomes against {b.size}; paired outcomes are as many on both sides")
    both, only_a, only_b = (int(np.count_nonzero(x)) for x in (a & b, a & ~b, ~a & b))
    return Discordance(both, only_a, only_b, a.size - both - only_a - only_b)


def mcnemar(only_a: int, only_b: int) -> TestResult:
    """Exact: of the pairs with different outcomes, is either agent ahead more often than a fair coin would have it?"""
    if min(only_a, only_b) < 0:
        raise ValueError(f"counts of pairs are not negative: {only_a}, {only_b}")
    p_value = min(1.0, 2 * heads(min(only_a, only_b), only_a + only_b))
    return TestResult(p_value, "exact McNemar", True, float(only_a - only_b))


def heads(most: int, tosses: int) -> float:
    """The probability that a fair coin shows heads at most so often. In whole numbers, rounded once at the end; where
    these grow too large for that, as scipy has it (to 1e-9)."""
    if tosses > WHOLE:
        from scipy.special import bdtr

        return float(bdtr(most, tosses, 0.5))
    term = total = 1
    for k in range(most):
        term = term * (tosses - k) // (k + 1)
        total += term
    return total / (1 << tosses)


def compare_rates(successes_a: int, n_a: int, successes_b: int, n_b: int) -> TestResult:
    """Two rates of independent trials: Barnard's exact test where arms are small, Fisher's where one of them is, the
    score test where both are large."""
    check_count(successes_a, n_a)
    check_count(successes_b, n_b)
    if min(n_a, n_b) == 0:
        raise ValueError("an arm has no trial; there is nothing to compare")
    if n_a * n_b <= BARNARD_LIMIT**2:
        return barnard(successes_a, n_a, successes_b, n_b)
    z = float(pooled_z(np.asarray(successes_a), n_a, np.asarray(successes_b), n_b))
    if min(n_a, n_b) < LARGE_ARM:
        return TestResult(_fisher(successes_a, n_a, successes_b, n_b), "Fisher's exact test", True, z)
    return TestResult(2 * NormalDist().cdf(-abs(z)), "score test", False, z)


def _fisher(successes_a: int, n_a: int, successes_b: int, n_b: int) -> float:
    """The probability, given how many succeeded in all, of outcomes that are no likelier than what was seen."""
    from scipy.stats import hypergeom

    total, wins = n_a + n_b, successes_a + successes_b
    few, k = (n_a, successes_a) if n_a <= n_b else (n_b, successes_b)
    chances = hypergeom.pmf(np.arange(few + 1), total, wins, few)
    return min(1.0, float(chances[chances <= chances[k] * (1 + 1e-7)].sum()))


def barnard(successes_a: int, n_a: int, successes_b: int, n_b: int) -> TestResult:
    """Barnard's unconditional test with the pooled score statistic: the largest probability, over all rates that both
    could have in common, of a statistic at least as far from 0."""
    table = z_table(n_a, n_b)
    z = float(table[successes_a, successes_b])
    region = np.abs(table) >= abs(z) * (1 - RELATIVE_TIE)
    return TestResult(worst_case(region), "Barnard's exact test", True, z)


@functools.lru_cache(maxsize=256)
def barnard_region(n: int, alpha: float) -> np.ndarray:
    """The outcomes `(n + 1, n + 1)` of two arms of n trials that Barnard's test rejects at alpha, as 0 and 1."""
    table = np.abs(z_table(n, n))
    steps = np.unique(table[table > 1])
    low, high = 0, len(steps)
    while low < high:
        centre = (low + high) // 2
        allowed = worst_case(table >= steps[centre] * (1 - RELATIVE_TIE), coarse=120, rounds=4) <= alpha
        low, high = (low, centre) if allowed else (centre + 1, high)
    edge = steps[low] * (1 - RELATIVE_TIE) if low < len(steps) else math.inf
    return (table >= edge).astype(np.float64)


def pooled_z(successes_a: np.ndarray, n_a: int, successes_b: np.ndarray, n_b: int) -> np.ndarray:
    """The score statistic of rate a minus rate b; 0 where all trials end alike."""
    rate = (successes_a + successes_b) / (n_a + n_b)
    variance = rate * (1 - rate) * (1 / n_a + 1 / n_b)
    difference = successes_a / n_a - successes_b / n_b
    return np.divide(difference, np.sqrt(variance), out=np.zeros_like(variance), where=variance > 0)


def z_table(n_a: int, n_b: int) -> np.ndarray:
    """The score statistic of every outcome, `(n_a + 1, n_b + 1)`."""
    return pooled_z(np.arange(n_a + 1)[:, None], n_a, np.arange(n_b + 1)[None, :], n_b)


def worst_case(region: np.ndarray, coarse: int = 400, rounds: int = 6) -> float:
    """The largest probability of the region `(n_a + 1, n_b + 1)` over all common rates. Searched on a grid whose steps
    are even for the square root's arcsine, fine against the width 1/n of what the probability does; then around its
    highest points on finer and finer ones."""
    angles = np.linspace(0, math.pi / 2, coarse + 1)
    values = region_probability(region, np.sin(angles) ** 2)
    best, step = float(values.max()), angles[1]
    peaks = angles[np.argsort(values)[-3:]]
    for _ in range(rounds):
        near = np.clip(peaks[:, None] + step * np.linspace(-1, 1, 9), 0, math.pi / 2)
        found = region_probability(region, np.sin(near.ravel()) ** 2).reshape(near.shape)
        peaks, best, step = near[np.arange(len(near)), found.argmax(1)], max(best, float(found.max())), step / 4
    return min(1.0, best)


def region_probability(region: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """The probability of the region for each rate that both arms have. The statistic falls along every row, so a row's
    part of the region is its first outcomes and its last ones: two tails of a binomial."""
    n_a, n_b = region.shape[0] - 1, region.shape[1] - 1
    of_a, of_b = binomial(n_a, rates), binomial(n_b, rates)
    edge = np.zeros((len(of_b), 1))
    lower = np.concatenate([edge, of_b.cumsum(axis=1)], axis=1)
    upper = np.concatenate([edge, of_b[:, ::-1].cumsum(axis=1)], axis=1)
    first = np.logical_and.accumulate(region, axis=1).sum(axis=1)
    last = np.where(first > n_b, 0, np.logical_and.accumulate(region[:, ::-1], axis=1).sum(axis=1))
    return (of_a * (lower[:, first] + upper[:, last])).sum(axis=1)


def binomial(n: int, rates: np.ndarray) -> np.ndarray:
    """The probability of 0 to n successes for each rate, `(rates, n + 1)`."""
    from scipy.special import gammaln, xlog1py, xlogy

    k, p = np.arange(n + 1), np.asarray(rates, dtype=np.float64)[:, None]
    ways = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    return np.exp(ways + xlogy(k, p) + xlog1py(n - k, -p))


def _flipping(n: int) -> Callable[..., None]:
    """What flips the signs of so many values; the results are the same to the bit."""
    if n <= flips.FEW:
        return flips.flipped_sums
    from proctor.stats import kernels

    return kernels.flipped_sums


def sign_flip(differences: np.ndarray, resampling: Resampling | None = None) -> TestResult:
    """Paired differences: how often is their sum as far from 0 when every sign is a coin's? Where all differences other
    than 0 are of one size, as those of outcomes are, that is McNemar's test; all signs are tried with up to 20 of them.
    Else `resampling` says how many are drawn, and with which seed (default 9,999), and the p-value counts what was seen
    as one of them: it is never 0. Where none that was drawn comes near, Hoeffding's bound may be smaller, which many
    pairs of agents need. Above 20,000 the normal limit of the same distribution is used."""
    values = np.asarray(differences, dtype=np.float64)
    if not np.isfinite(values).all():
        raise ValueError("differences must be finite; leave out pairs without both values")
    values = values[values != 0]
    total = float(values.sum())
    reached = abs(total) * (1 - RELATIVE_TIE) - 1e-12 * float(np.abs(values).sum())
    if not values.size:
        return TestResult(1.0, "exact sign-flip permutation", True, 0.0)
    sizes = np.abs(values)
    if (sizes == sizes[0]).all():
        ahead = int(np.count_nonzero(values > 0))
        return TestResult(mcnemar(ahead, len(values) - ahead).p_value, "exact sign-flip permutation", True, total)
    if len(values) <= EXACT_FLIPS:
        sums = np.zeros(1)
        for value in values:
            sums = np.concatenate([sums + value, sums - value])
        return TestResult(float(np.mean(np.abs(sums) >= reached)), "exact sign-flip permutation", True, total)
    if len(values) > DRAWN_FLIPS:
        z = total / math.sqrt(float((values**2).sum()))
        return TestResult(2 * NormalDist().cdf(-abs(z)), "sign-flip permutation, normal limit", False, total)
    resampling = resampling or Resampling(9_999)
    drawn = resampling.fill((), len(values), _flipping(len(values)), resampling.stream_keys(), values)
    hits = int(np.count_nonzero(np.abs(drawn) >= reached))
    p_value = (1 + hits) / (1 + len(drawn))
    if hits == 0:
        p_value = min(p_value, 2 * math.exp(-(total**2) / (2 * float((values**2).sum()))))
    return TestResult(p_value, f"sign-flip permutation, {len(drawn):,} drawn", False, total)
