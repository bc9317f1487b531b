"""Futility: the chance to settle a difference, against what then happened, and what stopping for it costs."""

from __future__ import annotations

import numpy as np
import pytest

from proctor.stats import SpendingTest, conditional_power
from proctor.stats.spending import futility_looks, simulate_spending


def streams(seed: int, a: float, b: float, shape: tuple[int, int]) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return (rng.random(shape) < a).astype(int) - (rng.random(shape) < b)


def test_a_test_that_has_stopped_is_certain_and_one_without_pairs_left_too() -> None:
    assert conditional_power(np.ones(40), 100) == 1
    assert conditional_power(np.tile([1, -1], 50), 100) == 0


def test_agents_may_be_swapped() -> None:
    steps = streams(1, 0.8, 0.6, (1, 60))[0]
    assert conditional_power(steps, 120) == pytest.approx(conditional_power(-steps, 120), abs=0.08)


def test_equal_outcomes_so_far_leave_little_hope_and_a_clear_lead_much() -> None:
    assert conditional_power(np.zeros(70), 100) < 0.05
    assert conditional_power(np.tile([1, -1], 35), 100) < 0.05
    assert conditional_power(np.tile([1, 1, 0, -1, 0], 14), 100) > 0.5


def test_where_further_pairs_come_as_seen_the_chance_comes_true() -> None:
    seen = np.tile([1, 0, 1, -1, 0, 1, 0, 0, -1, 0], 5)
    rng = np.random.default_rng(2)
    shares = (np.array([np.count_nonzero(seen == step) for step in (-1, 0, 1)]) + 0.5) / (len(seen) + 1.5)
    later = rng.choice([-1, 0, 1], (4000, 70), p=shares)
    settled = np.mean(simulate_spending(np.hstack([np.tile(seen, (4000, 1)), later]), 120) != 0)
    assert conditional_power(seen, 120) == pytest.approx(settled, abs=0.06)


def test_looks_are_at_tenths_from_half_of_the_maximum_on() -> None:
    assert futility_looks(100) == {50, 60, 70, 80, 90}
    assert max(futility_looks(7)) == 7


@pytest.mark.parametrize(("a", "b", "lost"), [(0.9, 0.6, 0.03), (0.8, 0.65, 0.06)])
def test_stopping_at_a_chance_below_5_percent_costs_little_power_and_saves_trials_where_there_is_nothing(a, b, lost):
    drawn, equal = streams(3, a, b, (120, 100)), streams(4, 0.7, 0.7, (120, 100))
    full, short = ([found(row, limit) for row in drawn] for limit in (0.0, 0.05))
    assert np.mean([better for _, better in short]) >= np.mean([better for _, better in full]) - lost
    assert np.mean([n for n, _ in (found(row, 0.05) for row in equal)]) < 80


def found(steps: np.ndarray, limit: float) -> tuple[int, bool]:
    """How many pairs it took, and whether a difference was settled."""
    test = SpendingTest(len(steps))
    for n, step in enumerate(steps.tolist(), start=1):
        if test.update(step > 0, step < 0).stop:
            return n, test.decision.better is not None
        if n in futility_looks(len(steps)) and conditional_power(steps[:n], len(steps)) < limit:
            return n, False
    raise AssertionError("the maximum is a stop")


def test_what_is_no_row_of_pairs_is_refused() -> None:
    with pytest.raises(ValueError, match=r"steps of shape \(9,\); expected one row of at most 5"):
        conditional_power(np.zeros(9), 5)
