from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.stats import cliffs_delta, cohens_h, odds_ratio, paired_d, paired_odds_ratio, probability_of_improvement

arms = st.integers(1, 50).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(arms, arms)
def test_effects_mirror_and_are_finite(one: tuple[int, int], two: tuple[int, int]) -> None:
    a, b = one[0] / one[1], two[0] / two[1]
    assert cohens_h(a, b) == pytest.approx(-cohens_h(b, a))
    assert odds_ratio(*one, *two) * odds_ratio(*two, *one) == pytest.approx(1)


def test_effects_by_hand() -> None:
    assert odds_ratio(18, 20, 12, 20) == pytest.approx((18.5 / 2.5) / (12.5 / 8.5))
    assert cohens_h(0.9, 0.6) == pytest.approx(2 * math.asin(math.sqrt(0.9)) - 2 * math.asin(math.sqrt(0.6)))
    assert cohens_h(1, 0) == pytest.approx(math.pi)
    assert paired_odds_ratio(7, 2) == 3.0


def test_paired_d_is_in_standard_deviations() -> None:
    values = np.array([1.0, 2.0, 3.0])
    assert paired_d(values) == 2.0
    assert paired_d(10 * values) == pytest.approx(2.0)
    assert paired_d(np.ones(4)) is None
    assert paired_d(np.ones(1)) is None
    assert paired_d(0.3 + np.array([0.0, 1e-13, 2e-13])) is None
    assert paired_d(1e-9 * values) == pytest.approx(2.0)
    assert paired_d(1e-9 * values, size=1e4) is None, "as little as rounding errors of values of this size"


def test_cliffs_delta_counts_pairs_above_and_below() -> None:
    assert cliffs_delta(np.array([1, 2, 3]), np.array([2, 2])) == 0
    assert cliffs_delta(np.array([5, 6]), np.array([1, 2, 3])) == 1
    assert cliffs_delta(np.array([]), np.array([1])) is None
    a, b = np.random.default_rng(0).normal(size=(2, 20))
    assert cliffs_delta(a, b) == pytest.approx(2 * probability_of_improvement([a], [b]).value - 1)  # type: ignore[operator]
