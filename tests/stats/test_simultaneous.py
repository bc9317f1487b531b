"""Intervals that hold all at once: laws, one difference against Student's, and how often all of them hold."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from proctor.stats import Interval, Resampling, simultaneous_intervals, student_t
from proctor.stats.simultaneous import largest_t

MANY = Resampling(1000)


def differences(values: np.ndarray) -> list[np.ndarray]:
    """Of all pairs of agents, from `(units, agents)`."""
    return [values[:, i] - values[:, j] for i, j in combinations(range(values.shape[1]), 2)]


def scores(seed: int, units: int, agents: int) -> np.ndarray:
    """Seeds are hard or easy for all agents, which are equally good."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(units, 1)) + rng.normal(size=(units, agents))


def holds(found: Interval | None, truth: float = 0.0) -> bool:
    return found is not None and found.low <= truth <= found.high


@pytest.mark.parametrize(("units", "agents"), [(12, 3), (30, 6)])
def test_all_intervals_of_equal_agents_hold_zero_in_about_95_percent_of_cases(units: int, agents: int) -> None:
    held = [
        all(
            holds(found)
            for found in simultaneous_intervals(differences(scores(i, units, agents)), 0.95, MANY).intervals
        )
        for i in range(300)
    ]
    assert np.mean(held) > 0.92


def test_skewed_differences_are_covered_better_than_by_bonferroni() -> None:
    rng = np.random.default_rng(7)
    ours, students = [], []
    for _ in range(300):
        values = [rng.exponential(size=20) - 1 for _ in range(6)]
        ours.append(all(holds(found) for found in simultaneous_intervals(values, 0.95, MANY).intervals))
        students.append(all(holds(student_t(row, 1 - 0.05 / 6)) for row in values))
    assert np.mean(ours) > 0.92 > np.mean(students)


def test_they_are_wider_than_one_alone_and_narrower_than_bonferronis_where_pairs_share_much() -> None:
    values = differences(scores(1, 200, 8))
    alone = student_t(values[0])
    ours = simultaneous_intervals(values).intervals[0]
    bonferroni = student_t(values[0], 1 - 0.05 / len(values))
    assert alone is not None
    assert ours is not None
    assert bonferroni is not None
    assert alone.width < ours.width < bonferroni.width


def test_one_difference_has_about_students_interval() -> None:
    values = np.random.default_rng(2).normal(size=400)
    (found,) = simultaneous_intervals([values], 0.95, Resampling(20_000)).intervals
    assert found == pytest.approx(student_t(values), abs=4e-3)


def test_swapping_agents_turns_an_interval_around_and_shift_and_scale_move_it() -> None:
    values = differences(scores(3, 25, 3))
    found = simultaneous_intervals(values).intervals
    turned = simultaneous_intervals([-row for row in values]).intervals
    moved = simultaneous_intervals([3 * row + 2 for row in values]).intervals
    for one, other, third in zip(found, turned, moved, strict=True):
        assert one is not None
        assert other == pytest.approx((-one.high, -one.low))
        assert third == pytest.approx((3 * one.low + 2, 3 * one.high + 2))


def test_the_largest_t_is_that_of_the_resample() -> None:
    """One block of resamples, product by product."""
    values = np.random.default_rng(4).normal(size=(9, 3))
    values[2, 1] = np.nan
    found = largest_t(values, Resampling(50, seed=6))
    weights = np.random.Generator(np.random.PCG64(6)).multinomial(9, np.full(9, 1 / 9), 50)
    for row, largest in zip(weights, found, strict=True):
        drawn = np.repeat(values, row, axis=0)
        kept = [column[~np.isnan(column)] for column in drawn.T]
        errors = [column.std(ddof=1) / np.sqrt(len(column)) for column in kept]
        gaps = [abs(column.mean() - mean) for column, mean in zip(kept, np.nanmean(values, axis=0), strict=True)]
        assert largest == pytest.approx(max(gap / error for gap, error in zip(gaps, errors, strict=True)))


def test_units_that_differ_by_pair_and_few_units_get_bonferronis_level() -> None:
    rng = np.random.default_rng(5)
    unlike, few = [rng.normal(size=n) for n in (20, 30)], [rng.normal(size=5) for _ in range(2)]
    for values in (unlike, few):
        found = simultaneous_intervals(values)
        assert found.method == "Student's, Bonferroni's level for 2"
        for row, interval in zip(values, found.intervals, strict=True):
            assert interval == pytest.approx(student_t(row, 0.975))


def test_resamples_that_do_not_vary_leave_the_factor_bounded() -> None:
    rare = [np.array([1.0, *np.zeros(19)]), np.array([*np.zeros(19), 1.0])]
    assert all(own is not None and own.width < 1.0 for own in simultaneous_intervals(rare).intervals)


def test_what_does_not_vary_has_no_interval_and_widens_no_other() -> None:
    values = np.random.default_rng(6).normal(size=40)
    found = simultaneous_intervals([np.zeros(40), values, np.array([1.0]), np.full(40, np.nan)])
    assert [interval is None for interval in found.intervals] == [True, False, True, True]
    assert found.intervals[1] == simultaneous_intervals([values]).intervals[0]
    assert simultaneous_intervals([]).intervals == ()


def test_what_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="rows of finite numbers, nan for units that a pair lacks"):
        simultaneous_intervals([np.array([1.0, np.inf])])
