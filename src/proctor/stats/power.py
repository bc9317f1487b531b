"""How many trials it takes to see a difference, and how likely so many would show it.

Exact for the exact tests: paired, the sum over all numbers of differing pairs; unpaired, over all outcomes up to 200
trials per arm, above which the score test and its normal approximation take over. The sequential test is simulated.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from proctor.stats.betting import STAKES
from proctor.stats.intervals import check_alpha
from proctor.stats.significance import BARNARD_LIMIT, barnard_region, binomial
from proctor.stats.spending import simulate_spending

NORMAL = NormalDist()
MOST_TRIALS = 1_000_000
EXACT_PAIRS = 2_000
"""Pairs up to which the paired test's power is summed."""
STREAMS = 4_000


@dataclass(frozen=True, slots=True)
class SampleSize:
    """`n` trials per agent give `power` to see the difference; `n` None where a million would not do. `method` says
    how the power was computed."""

    n: int | None
    power: float
    method: str


def expected_discordance(rate_a: float, rate_b: float, correlation: float = 0.0) -> float:
    """The share of pairs with different outcomes, for two rates and the correlation of outcomes of one seed; 0 is what
    independent trials give. The share is cut to what the rates allow."""
    for rate in (rate_a, rate_b):
        if not 0 <= rate <= 1:
            raise ValueError(f"a rate of {rate:g}; it lies between 0 and 1")
    spread = math.sqrt(rate_a * (1 - rate_a) * rate_b * (1 - rate_b))
    share = rate_a * (1 - rate_b) + rate_b * (1 - rate_a) - 2 * correlation * spread
    return min(max(share, abs(rate_a - rate_b)), min(rate_a + rate_b, 2 - rate_a - rate_b))


def paired_power(n: int, difference: float, discordant: float, alpha: float = 0.05) -> float:
    """The chance that McNemar's exact test of n pairs finds a difference of rates, where a share `discordant` of pairs
    has different outcomes. Exact up to 2,000 pairs, a normal approximation above."""
    _check(difference, discordant, alpha)
    if n > EXACT_PAIRS:
        return _normal_paired_power(n, difference, discordant, alpha)
    from scipy.special import bdtr

    pairs = np.arange(n + 1)
    weight = binomial(n, np.array([discordant]))[0]
    critical = mcnemar_critical(n, alpha)
    ahead = 0.5 + difference / (2 * discordant)
    possible = critical >= 0
    low = bdtr(critical, pairs, ahead) + bdtr(critical, pairs, 1 - ahead)
    return float((weight[possible] * low[possible]).sum())


@functools.lru_cache(maxsize=64)
def mcnemar_critical(n: int, alpha: float) -> np.ndarray:
    """For 0 to n differing pairs the largest count of the lesser side at which McNemar's exact test rejects; -1
    where it never does."""
    from scipy.special import bdtr

    pairs = np.arange(n + 1)
    spread = 0.5 * NORMAL.inv_cdf(1 - alpha / 2) * np.sqrt(pairs)
    count = np.minimum(np.floor(pairs / 2 - spread) + 2, np.floor((pairs - 1) / 2))
    for _ in range(6):
        count = np.where((count >= 0) & (2 * bdtr(np.maximum(count, 0), pairs, 0.5) > alpha), count - 1, count)
    return np.maximum(count, -1)


def _normal_paired_power(n: int, difference: float, discordant: float, alpha: float) -> float:
    z = NORMAL.inv_cdf(1 - alpha / 2)
    gap, spread = math.sqrt(n) * abs(difference), math.sqrt(max(1e-12, discordant - difference**2))
    return NORMAL.cdf((gap - z * math.sqrt(discordant)) / spread)


def unpaired_power(n: int, rate_a: float, rate_b: float, alpha: float = 0.05) -> float:
    """The chance that the test of two rates with n independent trials each finds their difference: Barnard's, exact up
    to 200; the score test's normal approximation above."""
    check_alpha(alpha)
    if n > BARNARD_LIMIT:
        return _normal_unpaired_power(n, rate_a, rate_b, alpha)
    region = barnard_region(n, alpha)
    of_a, of_b = binomial(n, np.array([rate_a]))[0], binomial(n, np.array([rate_b]))[0]
    return float(of_a @ region @ of_b)


def _normal_unpaired_power(n: int, rate_a: float, rate_b: float, alpha: float) -> float:
    z, pooled = NORMAL.inv_cdf(1 - alpha / 2), (rate_a + rate_b) / 2
    under_null = math.sqrt(2 * pooled * (1 - pooled))
    spread = math.sqrt(max(1e-12, rate_a * (1 - rate_a) + rate_b * (1 - rate_b)))
    return NORMAL.cdf((math.sqrt(n) * abs(rate_a - rate_b) - z * under_null) / spread)


def sequential_power(
    max_trials: int, difference: float, discordant: float, alpha: float = 0.05, seed: int = 0
) -> tuple[float, float]:
    """Of the spending test with this maximum, from 4,000 seeded streams: the chance that it finds the difference, and
    the mean number of pairs until it stops. The standard error of the chance is below 0.8 points."""
    _check(difference, discordant, alpha)
    rng = np.random.Generator(np.random.PCG64(seed))
    drawn = rng.random((STREAMS, max_trials))
    ahead = (discordant + difference) / 2
    steps = np.where(drawn < ahead, 1, np.where(drawn < discordant, -1, 0))
    stops = simulate_spending(steps, max_trials, alpha)
    return float(np.mean(stops != 0)), float(np.where(stops == 0, max_trials, np.abs(stops)).mean())


def trials_paired(difference: float, discordant: float, power: float = 0.8, alpha: float = 0.05) -> SampleSize:
    """How many pairs McNemar's test needs."""
    _check(difference, discordant, alpha)
    names = ("exact McNemar", "McNemar, normal approximation")
    return _sized(lambda n: paired_power(n, difference, discordant, alpha), power, EXACT_PAIRS, names)


def trials_unpaired(rate_a: float, rate_b: float, power: float = 0.8, alpha: float = 0.05) -> SampleSize:
    """How many trials per agent the test of two rates needs."""
    _check(rate_a - rate_b, 1.0, alpha)
    expected_discordance(rate_a, rate_b)
    names = ("Barnard's exact test", "score test, normal approximation")
    return _sized(lambda n: unpaired_power(n, rate_a, rate_b, alpha), power, BARNARD_LIMIT, names)


def trials_sequential(difference: float, discordant: float, power: float = 0.8, alpha: float = 0.05) -> SampleSize:
    """Which maximum the spending test needs, to 2 %. It stops earlier in most cases."""
    fixed = trials_paired(difference, discordant, power, alpha).n
    if fixed is None or fixed > EXACT_PAIRS:
        n = None if fixed is None else math.ceil(1.05 * fixed)
        return SampleSize(n, power, "McNemar's number and 5 %")
    n = fixed
    while (found := sequential_power(n, difference, discordant, alpha)[0]) < power and n < 2 * fixed + 20:
        n = max(n + 1, math.ceil(1.02 * n))
    return SampleSize(n, found, f"simulation of {STREAMS:,} streams")


def trials_after_a_look(differences: np.ndarray, power: float = 0.8, alpha: float = 0.05) -> SampleSize:
    """How many pairs in all `always_valid` needs, where further ones differ as these do: trials that are added because
    of a look are tested so. A normal approximation of the wealth of the best bet, which must reach 1/alpha although the
    wealth was shared out among all bets. `n` None where no bet grows."""
    check_alpha(alpha)
    values = np.asarray(differences, dtype=np.float64)
    if not len(values) or not values.sum():
        raise ValueError("the differences average 0; no number of trials settles that")
    shares = values * np.sign(values.sum()) / np.abs(values).max()
    logs = np.log1p(STAKES[:, None] * shares)
    growth, spread = logs.mean(axis=1), NORMAL.inv_cdf(_target(power)) * logs.std(axis=1)
    wealth = math.log(2 * len(STAKES) / alpha)
    growth, spread = growth[growth > 0], spread[growth > 0]
    roots = (spread + np.sqrt(np.maximum(0.0, spread * np.abs(spread) + 4 * growth * wealth))) / (2 * growth)
    n = float((roots**2).min(initial=math.inf))
    return SampleSize(math.ceil(n) if n <= MOST_TRIALS else None, power, "bets on signs, normal approximation")


def smallest(power_of: Callable[[int], float], target: float) -> int | None:
    """The smallest n from which the power stays at the target or above, as far as 12 further n show: exact tests lose
    a little power at some steps."""
    high = 2
    while power_of(high) < target:
        high *= 2
        if high > MOST_TRIALS:
            return None
    low = high // 2
    while high - low > 1:
        centre = (low + high) // 2
        low, high = (low, centre) if power_of(centre) >= target else (centre, high)
    n = max(1, high - 12)
    while (short := [k for k in range(n, n + 13) if power_of(k) < target]) and n < MOST_TRIALS:
        n = short[-1] + 1
    return n


def _sized(power_of: Callable[[int], float], power: float, exact_to: int, names: tuple[str, str]) -> SampleSize:
    """`names` of the method up to `exact_to` trials, and above."""
    n = smallest(power_of, _target(power))
    if n is None:
        return SampleSize(None, power_of(MOST_TRIALS), names[1])
    return SampleSize(n, power_of(n), names[0] if n <= exact_to else names[1])


def _target(power: float) -> float:
    if not 0 < power < 1:
        raise ValueError(f"a power of {power:g}; it lies between 0 and 1, 0.8 for instance")
    return power


def _check(difference: float, discordant: float, alpha: float) -> None:
    check_alpha(alpha)
    if not 0 < abs(difference) <= 1:
        raise ValueError(f"a difference of {difference:g}; it lies between 0 and 1 and is not 0")
    if not abs(difference) <= discordant <= 1:
        raise ValueError(
            f"{discordant:g} of pairs with different outcomes; it lies between the difference, {abs(difference):g}, "
            "and 1"
        )
