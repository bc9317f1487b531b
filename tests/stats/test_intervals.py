from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest, t, ttest_1samp

from proctor.stats import Discordance, Interval, newcombe, rate_bounds, student_t, tango, wilson
from proctor.stats.intervals import MANY, t_quantile

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


@pytest.mark.parametrize("p", [0.5, 0.9, 0.975, 0.9995])
@pytest.mark.parametrize("freedom", [1, 30, MANY - 1, MANY, 12_345, 10**7])
def test_quantiles_of_students_distribution_equal_scipys(freedom: int, p: float) -> None:
    assert t_quantile(freedom, p) == pytest.approx(float(t.ppf(p, freedom)), rel=1e-11, abs=1e-12)


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


def coverage(method: Callable[[int, int], Interval | None], n: int, rates: np.ndarray) -> np.ndarray:
    """By exact summation: the probability that the interval holds each of the rates."""
    ends = np.array([method(k, n) for k in range(n + 1)])
    holds = (ends[None, :, 0] <= rates[:, None]) & (rates[:, None] <= ends[None, :, 1])
    return (holds * binom.pmf(np.arange(n + 1), n, rates[:, None])).sum(axis=1)


RATES = np.linspace(0.02, 0.98, 193)


@pytest.mark.parametrize("n", range(5, 101))
def test_rates_are_held_as_often_as_promised(n: int) -> None:
    of_wilson = coverage(wilson, n, RATES)
    assert of_wilson.mean() == pytest.approx(0.95, abs=0.01)
    assert of_wilson.min() >= 0.83


def test_a_level_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="a level of 95; it lies between 0 and 1"):
        wilson(1, 2, 95)


@given(trials, trials)
def test_newcombe_mirrors_and_is_never_empty(one: tuple[int, int], two: tuple[int, int]) -> None:
    found, mirrored = newcombe(*one, *two), newcombe(*two, *one)
    assert found is not None
    assert mirrored is not None
    assert found.width > 1e-3
    assert found == pytest.approx((-mirrored.high, -mirrored.low))


def test_newcombe_by_hand() -> None:
    """Newcombe (1998), table II: 56/70 against 48/80."""
    assert newcombe(56, 70, 48, 80) == pytest.approx((0.0524, 0.3339), abs=1e-4)
    assert newcombe(0, 0, 3, 4) is None


counts = st.integers(0, 60)


@given(counts, counts, counts)
def test_tango_mirrors_holds_what_was_seen_and_is_never_empty(b: int, c: int, same: int) -> None:
    pairs, mirrored = Discordance(same, b, c, 1), Discordance(same, c, b, 1)
    found, other = tango(pairs), tango(mirrored)
    assert found is not None
    assert other is not None
    assert found == pytest.approx((-other.high, -other.low), abs=1e-12)
    assert found.low <= (b - c) / pairs.n <= found.high
    assert found.width > 1e-3


def test_tango_by_hand() -> None:
    """Without differing pairs the ends are z^2 / (n + z^2) from 0; 44 pairs of Tango (1998)."""
    z2 = 1.959964**2
    assert tango(Discordance(30, 0, 0, 10)) == pytest.approx((-z2 / (40 + z2), z2 / (40 + z2)), abs=1e-6)
    assert tango(Discordance(43, 0, 1, 0)) == pytest.approx((-0.1184, 0.0601), abs=1e-3)
    found = tango(Discordance(0, 9, 0, 0))
    assert found is not None
    assert found.high == 1.0
    assert tango(Discordance(0, 0, 0, 0)) is None
    with pytest.raises(ValueError, match="not negative"):
        tango(Discordance(1, -1, 0, 0))
