"""Two samples of few units: laws first, then tables of the permutation by hand, then error rates."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from proctor.stats import Resampling
from proctor.stats.members import compare_members, least_p, permuted_means, welch_means

values = st.lists(st.integers(-50, 50), min_size=2, max_size=6).map(lambda found: np.array(found) / 7)


@given(values, values)
def test_the_names_of_the_samples_do_not_matter(a: np.ndarray, b: np.ndarray) -> None:
    (first, there), (second, back) = compare_members(a, b), compare_members(b, a)
    assert (first is None) == (second is None)
    if first is not None and second is not None:
        assert first.p_value == pytest.approx(second.p_value, abs=1e-12)
        assert first.statistic == pytest.approx(-second.statistic, rel=1e-9, abs=1e-9)
    if there is not None and back is not None:
        assert there == pytest.approx((-back.high, -back.low), abs=1e-9)


@given(values, values, st.integers(-20, 20), st.integers(1, 9))
def test_neither_shift_nor_scale_changes_the_p_value(a: np.ndarray, b: np.ndarray, shift: int, scale: int) -> None:
    test, moved = compare_members(a, b)[0], compare_members(scale * a + shift, scale * b + shift)[0]
    assert (test is None) == (moved is None)
    if test is not None and moved is not None:
        assert test.p_value == pytest.approx(moved.p_value, abs=1e-9)


def test_by_hand() -> None:
    """Four against four, apart: of 70 ways to deal them out, this one and its mirror are as far from 0."""
    test, interval = compare_members(np.array([5.0, 6, 7, 8]), np.array([1.0, 2, 3, 4]))
    assert test is not None
    assert interval is not None
    assert (test.p_value, test.exact, test.method) == (2 / 70, True, "permutation of members")
    assert interval.low < 4 < interval.high
    assert (least_p(4, 4), least_p(3, 4), least_p(3, 3)) == (2 / 70, 1 / 35, 0.1)


def test_the_permutation_is_that_of_scipy() -> None:
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=4), rng.normal(1, 3, size=5)

    def statistic(x: np.ndarray, y: np.ndarray, axis: int) -> np.ndarray:
        return scipy_stats.ttest_ind(x, y, equal_var=False, axis=axis).statistic

    found = scipy_stats.permutation_test((a, b), statistic, vectorized=True, n_resamples=np.inf)
    pooled = np.abs(found.null_distribution) >= abs(found.statistic) * (1 - 1e-9)
    assert permuted_means(a, b).p_value == pytest.approx(pooled.mean(), abs=1e-12)


def test_welch_is_that_of_scipy_where_no_permutation_could_be_significant() -> None:
    a, b = np.array([0.9, 0.8, 0.85]), np.array([0.2, 0.35, 0.3])
    test, interval = compare_members(a, b)
    known = scipy_stats.ttest_ind(a, b, equal_var=False)
    assert test is not None
    assert test.method == "Welch's test of members"
    assert test.p_value == pytest.approx(known.pvalue, abs=1e-12)
    assert interval == pytest.approx(tuple(known.confidence_interval()), abs=1e-9)
    assert welch_means(a, b)[0] == test


def test_too_few_units_have_no_test() -> None:
    assert compare_members(np.array([1.0]), np.arange(9.0)) == (None, None)
    assert compare_members(np.array([0.0, 1.0]), np.array([5.0, 6.0]))[0] is None
    test, _ = compare_members(np.array([0.0, 1.0]), np.array([5.0, 6.0, 7.0, 8.0, 9.0]))
    assert test is not None
    assert test.p_value == 1 / 21


def test_equal_values_have_no_test_and_constant_samples_that_differ_have_one() -> None:
    assert compare_members(np.ones(5), np.ones(5)) == (None, None)
    test, interval = compare_members(np.ones(5), np.zeros(5))
    assert test is not None
    assert test.p_value == 2 / 252
    assert interval is None


def test_many_units_are_drawn_from_a_seed() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=12), rng.normal(0.9, 1, size=12)
    first, again = (permuted_means(a, b, Resampling(9_999, 4)) for _ in range(2))
    assert first == again
    assert not first.exact
    assert first.p_value == pytest.approx(scipy_stats.ttest_ind(a, b).pvalue, abs=0.01)
    assert permuted_means(a, b + 100).p_value == 1 / 10_000


@pytest.mark.parametrize(("n_a", "n_b"), [(3, 3), (3, 4), (5, 5)])
@pytest.mark.parametrize("spread", [1.0, 5.0])
def test_false_alarms_are_rare(n_a: int, n_b: int, spread: float) -> None:
    """At most 6.5 % of 1,500 pairs of equal methods (three standard errors above 5 %); skewed ones, too."""
    rng = np.random.default_rng(1)
    draws = (rng.normal, lambda size: rng.beta(8, 1, size=size) - 8 / 9)
    for draw in draws if spread == 1 else draws[:1]:
        tests = [compare_members(draw(size=n_a), spread * draw(size=n_b))[0] for _ in range(1500)]
        assert np.mean([test is not None and test.p_value <= 0.05 for test in tests]) <= 0.067
