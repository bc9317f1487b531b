"""Tests by betting: laws, the wealth by hand and over all signs, and false alarms under continuous looking."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from proctor.stats import Interval, always_valid, always_valid_rates, centre_sequence, mean_sequence
from proctor.stats.betting import STAKES, _mean_wealth, log_wealth, log_wealth_rates

rows = arrays(np.float64, st.integers(1, 30), elements=st.integers(-50, 50).map(float))


def brute(differences: list[float]) -> float:
    """The p-value as the formula has it, product by product."""
    highest = 1.0
    for n in range(1, len(differences) + 1):
        wealth = 0.0
        for stake, side in itertools.product(STAKES, (1, -1)):
            product = 1.0
            for i, value in enumerate(differences[:n]):
                scale = max(abs(x) for x in differences[: i + 1])
                product *= 1 + side * stake * (value / scale if scale else 0.0)
            wealth += product / (2 * len(STAKES))
        highest = max(highest, wealth)
    return 1 / highest


@given(rows)
def test_the_p_value_is_the_formula(differences: np.ndarray) -> None:
    assert always_valid(differences).p_value == pytest.approx(brute(differences.tolist()), rel=1e-9)


@given(rows, st.floats(1e-3, 1e3))
def test_swapping_agents_and_changing_the_unit_change_nothing(differences: np.ndarray, unit: float) -> None:
    p = always_valid(differences).p_value
    assert always_valid(-differences).p_value == pytest.approx(p, rel=1e-9)
    assert always_valid(unit * differences).p_value == pytest.approx(p, rel=1e-6)


@given(rows, rows)
def test_looking_on_never_takes_evidence_back(differences: np.ndarray, more: np.ndarray) -> None:
    together = always_valid(np.concatenate([differences, more]))
    assert together.p_value <= always_valid(differences).p_value * (1 + 1e-9)


@given(rows)
def test_equal_pairs_say_nothing(differences: np.ndarray) -> None:
    spread = np.zeros(2 * len(differences))
    spread[1::2] = differences
    assert always_valid(spread).p_value == pytest.approx(always_valid(differences).p_value, rel=1e-9)


@pytest.mark.parametrize("magnitudes", [np.ones(12), np.arange(12.0), 0.5 ** np.arange(12), 2.0 ** np.arange(12)])
@pytest.mark.parametrize("alpha", [0.05, 0.2])
def test_over_all_signs_of_given_magnitudes_at_most_alpha_are_ever_rejected(magnitudes, alpha) -> None:
    signs = 1 - 2 * ((np.arange(1 << 12)[:, None] >> np.arange(12)) & 1)
    wealth = log_wealth(signs * magnitudes)
    assert np.exp(wealth).mean(axis=0) == pytest.approx(np.ones(12))
    assert np.mean(wealth.max(axis=1) >= -math.log(alpha)) <= alpha


DRAWS = {
    "pairs that differ now and then": lambda rng, shape: rng.choice([-1.0, 0.0, 1.0], shape, p=[0.1, 0.8, 0.1]),
    "normal": lambda rng, shape: rng.normal(size=shape),
    "heavy tails": lambda rng, shape: rng.standard_cauchy(shape),
    "growing": lambda rng, shape: rng.normal(size=shape) * np.arange(1, shape[1] + 1),
}


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_false_alarms_stay_below_5_percent_when_looked_at_after_every_pair(draw) -> None:
    wealth = log_wealth(draw(np.random.default_rng(1), (4000, 300)))
    assert np.mean(wealth.max(axis=1) >= math.log(20)) <= 0.05


def test_a_difference_is_found() -> None:
    wealth = log_wealth(np.random.default_rng(2).normal(0.5, 1.0, (400, 200)))
    assert np.mean(wealth.max(axis=1) >= math.log(20)) > 0.95
    assert always_valid(np.ones(10)).p_value < 0.05
    assert always_valid(np.ones(100_000)).p_value == 0.0 < always_valid(np.ones(10)).statistic


def test_without_a_difference_nothing_is_tested() -> None:
    for empty in (np.zeros(0), np.zeros(7)):
        assert always_valid(empty).p_value == 1
        assert always_valid(empty).method == "none: no pair differs"


def test_what_is_no_row_of_numbers_is_refused() -> None:
    with pytest.raises(ValueError, match=r"differences of shape \(2, 3\); expected one row of them"):
        always_valid(np.zeros((2, 3)))
    with pytest.raises(ValueError, match="must be finite; leave out pairs without both values"):
        always_valid(np.array([1.0, np.nan]))


def spread_of(found: Interval | None) -> Interval:
    assert found is not None
    return found


@pytest.mark.parametrize("centre", [0.0, 0.4])
def test_the_centre_of_symmetric_differences_is_held_at_every_look(centre: float) -> None:
    """That the interval holds the centre is that the bets around it have not won 20."""
    drawn = np.random.default_rng(3).standard_t(3, (2000, 200)) + centre
    assert np.mean(log_wealth(drawn - centre).max(axis=1) >= math.log(20)) <= 0.05
    for row in drawn[:20]:
        found = spread_of(centre_sequence(row))
        assert (found.low <= centre <= found.high) == (always_valid(row - centre).p_value > 0.05)


@settings(max_examples=20, deadline=None)
@given(arrays(np.float64, 25, elements=st.integers(-9, 9).map(float)), st.integers(-5, 5), st.sampled_from([0.5, 4.0]))
def test_the_interval_of_a_centre_moves_with_the_data(values: np.ndarray, shift: int, unit: float) -> None:
    found = spread_of(centre_sequence(values))
    moved = spread_of(centre_sequence(unit * values + shift))
    turned = spread_of(centre_sequence(-values))
    assert moved == pytest.approx((unit * found.low + shift, unit * found.high + shift), abs=1e-6)
    assert turned == pytest.approx((-found.high, -found.low), abs=1e-6)


def test_few_differences_have_no_interval_and_more_a_narrower_one() -> None:
    drawn = np.random.default_rng(4).normal(size=400)
    assert centre_sequence(np.zeros(0)) is None
    assert centre_sequence(drawn[:6]) is None
    assert spread_of(centre_sequence(drawn[:20])).width > 2 * spread_of(centre_sequence(drawn)).width


BOUNDED = {
    "successes": lambda rng, shape: (rng.random(shape) < 0.8).astype(float),
    "rare disasters": lambda rng, shape: 1.0 - (rng.random(shape) < 0.05),
    "in between": lambda rng, shape: rng.beta(2, 1, shape),
}


@pytest.mark.parametrize("draw", BOUNDED.values(), ids=BOUNDED)
def test_the_mean_of_bounded_values_is_held_by_95_percent_of_intervals_at_least(draw) -> None:
    rng = np.random.default_rng(5)
    truth = float(draw(rng, 400_000).mean())
    held = [found.low <= truth <= found.high for found in (mean_sequence(draw(rng, 20), 0, 1) for _ in range(200))]
    assert np.mean(held) >= 0.95


def test_the_bets_on_a_mean_are_fair_over_all_outcomes() -> None:
    """Three values with a mean of 0.4, all sequences of 5 of them: the wealth is 1 on average."""
    values, chances = np.array([0.0, 0.5, 1.0]), np.array([0.45, 0.3, 0.25])
    total = 0.0
    for picks in itertools.product(range(3), repeat=5):
        total += float(np.prod(chances[list(picks)])) * math.exp(_mean_wealth(values[list(picks)], 0.4))
    assert total == pytest.approx(1)


@settings(max_examples=20, deadline=None)
@given(arrays(np.float64, st.integers(0, 20), elements=st.floats(0, 1)), st.floats(-5, 5), st.floats(0.1, 9))
def test_the_interval_of_a_mean_moves_with_the_scale_and_is_never_empty(shares, low: float, width: float) -> None:
    found, scaled = mean_sequence(shares, 0, 1), mean_sequence(low + width * shares, low - 1e-9, low + width + 1e-9)
    assert 0 <= found.low < found.high <= 1
    assert scaled == pytest.approx((low + width * found.low, low + width * found.high), abs=1e-4)
    mirrored = mean_sequence(1 - shares, 0, 1)
    assert mirrored == pytest.approx((1 - found.high, 1 - found.low), abs=1e-6)


def test_without_values_the_mean_may_be_anything_and_values_outside_are_refused() -> None:
    assert mean_sequence(np.zeros(0), 2, 5) == (2, 5)
    for values, low, high in ((np.ones(2), 0, 0.5), (np.zeros(2), 1, 1)):
        with pytest.raises(ValueError, match="are needed, and the second must be larger"):
            mean_sequence(values, low, high)


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.95])
def test_bets_on_two_rates_raise_false_alarms_in_5_percent_at_most(rate: float) -> None:
    rng = np.random.default_rng(6)
    a, b = rng.random((2, 4000, 300)) < rate
    assert np.mean(log_wealth_rates(a, b).max(axis=1) >= math.log(20)) <= 0.05


def test_bets_on_two_rates_are_fair_over_all_outcomes_of_a_common_rate() -> None:
    rate, n = 0.3, 4
    outcomes = np.array(list(itertools.product([False, True], repeat=2 * n)))
    chances = np.prod(np.where(outcomes, rate, 1 - rate), axis=1)
    wealth = np.exp(log_wealth_rates(outcomes[:, :n], outcomes[:, n:]))
    assert (chances @ wealth <= 1 + 1e-12).all()


def test_bets_on_two_rates_find_a_difference_and_know_no_sides() -> None:
    rng = np.random.default_rng(7)
    a, b = rng.random(80) < 0.9, rng.random(80) < 0.4
    found = always_valid_rates(a, b)
    assert found.p_value < 0.01
    assert always_valid_rates(b, a).p_value == pytest.approx(found.p_value)
    assert always_valid_rates(~a, ~b).p_value == pytest.approx(found.p_value)
    assert always_valid_rates(a[:0], b[:0]).p_value == 1
    with pytest.raises(ValueError, match="80 outcomes against 3; as many of each are bet on"):
        always_valid_rates(a, b[:3])
