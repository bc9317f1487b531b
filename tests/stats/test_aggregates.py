from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import trim_mean

from proctor.stats import IQM, MEAN, MEDIAN, TRIAL_MEDIAN, optimality_gap

matrices = st.tuples(st.integers(1, 9), st.integers(1, 6), st.integers(0, 10**6)).map(
    lambda case: np.random.default_rng(case[2]).normal(size=case[:2])
)
"""Scores (runs, tasks)."""


@given(matrices)
def test_they_are_the_published_formulas(scores: np.ndarray) -> None:
    strata = list(scores.T)
    assert MEAN.of(strata) == pytest.approx(np.mean(np.mean(scores, axis=0)), abs=1e-12)
    assert MEDIAN.of(strata) == pytest.approx(np.median(np.mean(scores, axis=0)), abs=1e-12)
    assert IQM.of(strata) == pytest.approx(trim_mean(scores, proportiontocut=0.25, axis=None), abs=1e-12)
    assert TRIAL_MEDIAN.of(strata) == np.median(scores)
    assert optimality_gap(0.5).of(strata) == pytest.approx(0.5 - np.mean(np.minimum(scores, 0.5)), abs=1e-12)


def test_by_hand() -> None:
    strata = [np.array([0.0, 1.0, 2.0, 9.0]), np.array([4.0, 4.0, 5.0, 7.0])]
    assert MEAN.of(strata) == 4.0
    assert IQM.of(strata) == 3.75
    assert MEDIAN.of(strata) == 4.0
    assert TRIAL_MEDIAN.of(strata) == 4.0
    assert optimality_gap(2).of(strata) == 2 - (0 + 1 + 2 * 6) / 8
    assert optimality_gap(2).name == "optimality gap to 2"


@pytest.mark.parametrize("aggregate", [MEAN, IQM, optimality_gap(0.4)], ids=lambda a: a.name)
def test_influence_is_what_a_little_weight_does(aggregate) -> None:
    """Against the aggregate of a large sample to which one value is added a few times. Ten values: the quartiles lie
    within a value and not between two, where the interquartile mean has a kink."""
    values, copies, more = np.random.default_rng(0).normal(size=10), 400, 4
    sample = np.repeat(values, copies)
    moved = [aggregate.of([np.append(sample, [value] * more)]) - aggregate.of([sample]) for value in values]
    influence = aggregate.influence(values)
    assert np.array(moved) * len(sample) / more == pytest.approx(influence - influence.mean(), abs=0.01)


@pytest.mark.parametrize("aggregate", [MEDIAN, TRIAL_MEDIAN])
def test_medians_have_no_smooth_influence(aggregate) -> None:
    assert aggregate.influence(np.arange(5.0)) is None
