"""How many trials would settle a pair, if its true difference is the one that was seen."""

from __future__ import annotations

from proctor.stats import SampleSize, expected_discordance, trials_mean, trials_paired
from proctor.verdict.comparison.model import Comparison, Pair
from proctor.verdict.estimand import Measure


def needed_trials(
    comparison: Comparison, pair: Pair, measure: Measure | None = None, power: float = 0.8
) -> SampleSize | None:
    """Trials per agent in all, with the share of alpha that the pair has if all pairs are tested. None where the
    difference is 0 or unknown: no number of trials settles that."""
    found = pair.of(measure or comparison.by)
    alpha = (1 - comparison.level) / max(1, len(comparison.pairs))
    if not found.value or found.value_a is None or found.value_b is None:
        return None
    if "cohens_h" in found.effects:
        differing = max(abs(found.value), _differing(pair, found.value_a, found.value_b))
        return trials_paired(abs(found.value), differing, power, alpha)
    d = found.effects.get("paired_d")
    if d is None and found.interval is not None:
        d = _standardised(pair, found.value, found.interval.width, comparison.level)
    return None if not d else trials_mean(abs(d), power, alpha)


def _differing(pair: Pair, rate_a: float, rate_b: float) -> float:
    """The share of pairs with different outcomes; of independent trials, what they would give if paired at random."""
    if pair.discordance is None:
        return expected_discordance(rate_a, rate_b)
    return (pair.discordance.only_a + pair.discordance.only_b) / pair.discordance.n


def _standardised(pair: Pair, value: float, width: float, level: float) -> float | None:
    """A difference in standard deviations of one trial's difference, from the width of its interval."""
    from statistics import NormalDist

    n = 2 * pair.n_a * pair.n_b / (pair.n_a + pair.n_b)
    error = width / (2 * NormalDist().inv_cdf(0.5 + level / 2))
    return value / (error * n**0.5) if error > 0 else None
