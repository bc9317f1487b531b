from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.stats import (
    cliffs_delta,
    cohens_h,
    paired_d,
    paired_odds_ratio,
    probability_of_improvement,
    rate_effect,
    wins_and_losses,
)

arms = st.integers(1, 50).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(arms, arms)
def test_effects_mirror_and_are_finite(one: tuple[int, int], two: tuple[int, int]) -> None:
    found, mirrored = rate_effect(*one, *two), rate_effect(*two, *one)
    assert found is not None
    assert mirrored is not None
    assert found.risk_difference == -mirrored.risk_difference
    assert found.cohens_h == pytest.approx(-mirrored.cohens_h)
    assert found.odds_ratio * mirrored.odds_ratio == pytest.approx(1)


def test_effects_by_hand() -> None:
    found = rate_effect(18, 20, 12, 20)
    assert found is not None
    assert found.risk_difference == pytest.approx(0.3)
    assert found.odds_ratio == pytest.approx((18.5 / 2.5) / (12.5 / 8.5))
    assert found.cohens_h == pytest.approx(2 * math.asin(math.sqrt(0.9)) - 2 * math.asin(math.sqrt(0.6)))
    assert cohens_h(1, 0) == pytest.approx(math.pi)
    assert rate_effect(0, 0, 1, 2) is None
    assert paired_odds_ratio(7, 2) == 3.0


def test_paired_d_is_in_standard_deviations() -> None:
    values = np.array([1.0, 2.0, 3.0])
    assert paired_d(values) == 2.0
    assert paired_d(10 * values) == pytest.approx(2.0)
    assert paired_d(np.ones(4)) is None
    assert paired_d(np.ones(1)) is None


def test_cliffs_delta_counts_pairs_above_and_below() -> None:
    assert cliffs_delta(np.array([1, 2, 3]), np.array([2, 2])) == 0
    assert cliffs_delta(np.array([5, 6]), np.array([1, 2, 3])) == 1
    assert cliffs_delta(np.array([]), np.array([1])) is None
    a, b = np.random.default_rng(0).normal(size=(2, 20))
    assert cliffs_delta(a, b) == pytest.approx(2 * probability_of_improvement([a], [b]).value - 1)  # type: ignore[operator]


def test_wins_and_losses_by_task() -> None:
    found = wins_and_losses([np.array([1.0, 0, 1]), np.array([])], [np.array([0.0, 0, 2]), np.array([])])
    assert found[0] == (1, 1, 1, 0.0)
    assert found[1][:3] == (0, 0, 0)
    assert math.isnan(found[1].difference)
    with pytest.raises(ValueError, match="2 values against 3 on a task"):
        wins_and_losses([np.ones(2)], [np.ones(3)])
