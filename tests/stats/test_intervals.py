import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, ttest_1samp

from proctor.stats import rate_bounds, student_t, wilson

trials = st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(trials)
def test_wilson_holds_the_rate_within_bounds_and_never_has_width_zero(case: tuple[int, int]) -> None:
    k, n = case
    interval = wilson(k, n)
    assert interval is not None
    assert 0 <= interval.low <= k / n <= interval.high <= 1
    assert interval.high - interval.low > 1e-3


@given(trials)
def test_wilson_mirrors_when_success_and_failure_swap(case: tuple[int, int]) -> None:
    k, n = case
    one, other = wilson(k, n), wilson(n - k, n)
    assert one is not None
    assert other is not None
    assert one.low == pytest.approx(1 - other.high, abs=1e-12)


@given(trials, st.sampled_from([0.8, 0.9, 0.99]))
def test_wilson_equals_scipys(case: tuple[int, int], level: float) -> None:
    k, n = case
    expected = binomtest(k, n).proportion_ci(level, method="wilson")
    assert wilson(k, n, level) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_wilson_by_hand() -> None:
    assert wilson(14, 20) == pytest.approx((0.4810, 0.8545), abs=1e-4)
    assert wilson(0, 0) is None
    with pytest.raises(ValueError, match="3 successes in 2 trials"):
        wilson(3, 2)


def test_student_t_equals_scipys() -> None:
    values = np.random.default_rng(1).normal(size=9)
    expected = ttest_1samp(values, 0).confidence_interval(0.9)
    assert student_t(values, 0.9) == pytest.approx((expected.low, expected.high))
    assert student_t(values[:1]) is None


@given(trials, st.integers(0, 50))
def test_bounds_hold_every_rate_that_the_unscored_trials_could_give(case: tuple[int, int], unscored: int) -> None:
    k, n = case
    bounds = rate_bounds(k, n, unscored)
    assert bounds is not None
    for extra in (0, unscored // 2, unscored):
        assert bounds.low <= (k + extra) / (n + unscored) <= bounds.high
    assert (bounds.low == bounds.high) == (unscored == 0)


def test_bounds_by_hand() -> None:
    assert rate_bounds(12, 17, 3) == (0.6, 0.75)
    assert rate_bounds(0, 0, 4) == (0, 1)
    assert rate_bounds(0, 0, 0) is None
