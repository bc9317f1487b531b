"""How many trials would settle a pair, if its true difference is the one that was seen."""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import NormalDist

import numpy as np

from proctor.stats import SampleSize, expected_discordance, trials_after_a_look
from proctor.verdict.comparison.model import Comparison, Difference, Pair
from proctor.verdict.estimand import Measure

NORMAL = NormalDist()
DRAWN = 999
"""Values that stand for a distribution."""


def needed_trials(
    comparison: Comparison, pair: Pair, measure: Measure | None = None, power: float = 0.8
) -> SampleSize | None:
    """Trials per agent in all, those there are included, with the share of alpha that the pair has if all pairs are
    tested. They are tested as trials that were added after a look. Seeds are what is counted; tasks that share them
    have a trial of each. None where the difference is 0 or unknown: no number of trials settles that."""
    found = pair.of(measure or comparison.by)
    alpha = (1 - comparison.level) / max(1, len(comparison.pairs))
    units = _differences(pair, found, comparison.level)
    if units is None or not found.value or not units.sum():
        return None
    needed = trials_after_a_look(units, power, alpha)
    if needed.n is None or not found.units:
        return needed
    return replace(needed, n=math.ceil(needed.n * min(pair.n_a, pair.n_b) / found.units))


def _differences(pair: Pair, found: Difference, level: float) -> np.ndarray | None:
    """What further seeds are expected to differ by: as those that were seen; of independent trials, as they would if
    put side by side at random."""
    if found.sample is not None:
        return found.sample
    if not found.value or found.value_a is None or found.value_b is None:
        return None
    if "cohens_h" in found.effects:
        differing = expected_discordance(found.value_a, found.value_b)
        ahead, behind = ((differing + sign * found.value) / 2 for sign in (1, -1))
        return np.repeat([1.0, -1.0, 0.0], np.round(DRAWN * np.array([ahead, behind, 1 - differing])).astype(int))
    if found.interval is None:
        return None
    n = 2 * pair.n_a * pair.n_b / (pair.n_a + pair.n_b)
    spread = math.sqrt(n) * found.interval.width / (2 * NORMAL.inv_cdf(0.5 + level / 2))
    return found.value + spread * np.array([NORMAL.inv_cdf((i + 0.5) / DRAWN) for i in range(DRAWN)])
