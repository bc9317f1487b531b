"""Tests by betting: laws, the wealth by hand and over all signs, and false alarms under continuous looking."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from proctor.stats import always_valid
from proctor.stats.betting import STAKES, log_wealth

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
