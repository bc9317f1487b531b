"""The interval and the test of a mean difference: laws, one near-degenerate sample, and coverage of skewed values."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.stats import Interval, TestResult, Units, in_step, paired_test, simultaneous_intervals, skewed_interval
from proctor.stats.differences import skewed_test, unseen_p

NEARLY_ALIKE = np.array([0.0, 1.0, 0.0, 0.5, 0.0, 1.0, 0.5, 0.0, 488.0, 1.0])
"""Nine seeds on which two agents came to the same return, within a step or so, and one on which they did not."""
samples = st.lists(st.integers(-50, 50), min_size=3, max_size=15).map(lambda own: np.array(own, dtype=float))


def ends(sample: np.ndarray, level: float = 0.95) -> tuple[float, float]:
    found = skewed_interval(sample, level)
    assert found is not None
    return found.low, found.high


@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_one_value_far_from_the_others_does_not_make_the_interval_absurd(level: float) -> None:
    low, high = ends(NEARLY_ALIKE, level)
    student = 2 * 48.7 * {0.8: 1.383, 0.95: 2.262, 0.99: 3.250}[level]
    assert low < NEARLY_ALIKE.mean() < high
    assert high - low < 3 * student
    assert low > -488
    assert high < 20 * 48.7


@given(samples, st.floats(-1e3, 1e3), st.sampled_from([-3.0, -1e-6, 0.01, 1.0, 1e5]))
def test_shifting_and_scaling_the_values_shifts_and_scales_the_interval(
    sample: np.ndarray, shift: float, scale: float
) -> None:
    if np.ptp(sample) == 0:
        assert skewed_interval(sample, 0.95) is None
        return
    plain = ends(sample)
    moved = ends(scale * sample + shift)
    expected = sorted(scale * end + shift for end in plain)
    size = abs(scale) * (abs(plain[0]) + abs(plain[1])) + abs(shift)
    assert moved == pytest.approx(expected, abs=1e-9 * size)


@given(samples, st.sampled_from([0.5, 0.9, 0.95, 0.999]))
def test_the_interval_leaves_out_zero_where_the_test_does(sample: np.ndarray, level: float) -> None:
    test = skewed_test(sample)
    if test is None:
        return
    low, high = ends(sample, level)
    if abs(test.p_value - (1 - level)) > 1e-9:
        assert (low > 0 or high < 0) == (test.p_value < 1 - level)


@pytest.mark.parametrize(("n", "least"), [(10, 0.92), (30, 0.93)])
def test_skewed_differences_are_covered(n: int, least: float) -> None:
    rng = np.random.default_rng(n)
    held = [low <= 1 <= high for low, high in (ends(rng.exponential(size=n)) for _ in range(1500))]
    assert np.mean(held) > least


def test_without_skewness_it_is_students() -> None:
    sample = np.array([-3.0, -1.0, 0.0, 1.0, 3.0])
    half = 2.7764451 * np.std(sample, ddof=1) / np.sqrt(5)
    assert ends(sample) == pytest.approx((-half, half))
    assert skewed_interval(np.array([1.0, 3.0]), 0.95) == pytest.approx((2 - 12.7062047, 2 + 12.7062047))
    assert skewed_interval(np.array([1.0]), 0.95) is None


def test_what_no_unit_has_seen_has_two_sides() -> None:
    units = Units.of([np.full(5, 0.5) + 0.01 * np.arange(5)], [np.arange(5)], [1.0])
    assert unseen_p(units, 0.5) == pytest.approx(2 * (1 + units.mean / 0.5) ** -5)
    found = paired_test(units, reach=0.5)
    assert found is not None
    assert found.p_value == pytest.approx(1 / 16), "the two signs of five flips are more than what was not seen"


@given(st.floats(-5, 5).filter(bool), st.floats(0.1, 3), st.floats(0.1, 3), st.floats(1e-6, 1))
def test_an_interval_in_step_with_a_test_agrees_with_it_and_holds_the_value(
    value: float, below: float, above: float, p: float
) -> None:
    interval, test = Interval(value - below, value + above), TestResult(p, "", True, 0.0)
    made = in_step(interval, value, test, 0.95)
    assert made.low < value < made.high
    assert (made.low >= 0 or made.high <= 0) == (p <= 0.05)
    turned = in_step(Interval(-interval.high, -interval.low), -value, test, 0.95)
    assert turned == pytest.approx((-made.high, -made.low))
    if (interval.low >= 0 or interval.high <= 0) == (p <= 0.05):
        assert made == interval
    outwards = in_step(interval, value, test, 0.95, opened_only=True)
    assert outwards.low <= interval.low
    assert outwards.high >= interval.high


def test_intervals_of_all_pairs_stay_bounded_where_resamples_hardly_vary() -> None:
    rng = np.random.default_rng(0)
    found = simultaneous_intervals([NEARLY_ALIKE, -NEARLY_ALIKE, NEARLY_ALIKE + rng.normal(size=10)]).intervals
    assert all(own is not None and own.width < 25 * 48.7 for own in found)


@pytest.mark.parametrize("p", [1e-6, 0.04, 0.06, 1.0])
@pytest.mark.parametrize("value", [5e-324, -5e-324, 1e-310])
def test_the_smallest_of_differences_is_in_step_too(value: float, p: float) -> None:
    apart = Interval(value / 2, 1.0) if value > 0 else Interval(-1.0, value / 2)
    for interval in (Interval(-1.0, 1.0), apart):
        made = in_step(interval, value, TestResult(p, "", True, 0.0), 0.95)
        assert (made.low >= 0 or made.high <= 0) == (p <= 0.05)
        assert made.low <= value <= made.high
