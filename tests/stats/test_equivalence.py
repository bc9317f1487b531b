"""Equivalence: laws, published intervals, scipy's tests, and how often agents that differ are called alike."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.special import xlog1py, xlogy

from proctor.stats import (
    Discordance,
    Equivalence,
    equivalent_means,
    equivalent_paired_rates,
    equivalent_rates,
    equivalent_task_means,
)
from proctor.stats.equivalence import Arms
from proctor.stats.significance import binomial

arms = st.tuples(st.integers(1, 60), st.integers(1, 60)).flatmap(
    lambda n: st.tuples(st.integers(0, n[0]), st.just(n[0]), st.integers(0, n[1]), st.just(n[1]))
)
pairs = st.tuples(*[st.integers(0, 40)] * 4).map(lambda n: Discordance(*n)).filter(lambda found: found.n > 0)
margins = st.floats(0.01, 0.6)


def inside(found: Equivalence) -> bool:
    assert found.interval is not None
    return -found.margin < found.interval.low and found.interval.high < found.margin


def near_the_edge(found: Equivalence) -> bool:
    assert found.p_value is not None
    return abs(found.p_value - found.alpha) < 1e-6


@given(arms, margins, st.sampled_from([0.05, 0.1]))
def test_rates_are_equivalent_exactly_where_the_interval_is_within_the_margin(counts: Any, margin, alpha) -> None:
    found = equivalent_rates(*counts, margin=margin, alpha=alpha)
    assert found.equivalent == inside(found) or near_the_edge(found)
    swapped = equivalent_rates(*counts[2:], *counts[:2], margin=margin, alpha=alpha)
    assert swapped.p_value == pytest.approx(found.p_value, abs=1e-6)


@given(pairs, margins)
def test_paired_rates_are_equivalent_exactly_where_the_interval_is_within_the_margin(counts: Any, margin) -> None:
    found = equivalent_paired_rates(counts, margin)
    assert found.equivalent == inside(found) or near_the_edge(found)
    swapped = Discordance(counts.both, counts.only_b, counts.only_a, counts.neither)
    assert equivalent_paired_rates(swapped, margin).p_value == pytest.approx(found.p_value, abs=1e-9)


@given(st.lists(st.integers(-20, 20), min_size=3, max_size=40).filter(lambda x: len(set(x)) > 1), st.floats(0.5, 9))
def test_means_are_equivalent_exactly_where_the_interval_is_within_the_margin(values, margin) -> None:
    found = equivalent_means(np.array(values), margin)
    assert found.equivalent == inside(found) or near_the_edge(found)


@given(arms, margins)
def test_a_wider_margin_is_never_harder_to_show(counts: Any, margin) -> None:
    narrow, wide = (equivalent_rates(*counts, margin=m).p_value for m in (margin, margin * 1.3))
    assert narrow is not None
    assert wide is not None
    assert wide <= narrow + 1e-9


@pytest.mark.parametrize(
    ("counts", "low", "high"),
    [
        ((56, 70, 48, 80), 0.0528, 0.3382),
        ((9, 10, 3, 10), 0.1700, 0.8406),
        ((6, 7, 2, 7), 0.0342, 0.8534),
        ((5, 56, 0, 29), -0.0326, 0.1933),
        ((0, 10, 0, 20), -0.1658, 0.2844),
        ((0, 10, 0, 10), -0.2879, 0.2879),
        ((10, 10, 0, 20), 0.7156, 1.0),
        ((10, 10, 0, 10), 0.6636, 1.0),
    ],
)
def test_score_intervals_are_those_that_newcombe_published(counts: Any, low: float, high: float) -> None:
    """Newcombe 1998, table II, method 6."""
    assert Arms(*counts).interval(0.95) == pytest.approx((low, high), abs=5e-5)


@given(arms, st.floats(-0.95, 0.95))
def test_the_likeliest_rate_is_where_the_likelihood_is_largest(counts: Any, shift: float) -> None:
    a, n_a, b, n_b = counts
    rates = np.linspace(max(0, -shift), min(1, 1 - shift), 4001)
    shifted = np.clip(rates + shift, 0, 1)
    likelihood = xlogy(b, rates) + xlog1py(n_b - b, -rates) + xlogy(a, shifted) + xlog1py(n_a - a, -shifted)
    assert Arms(*counts).likeliest_rate(shift) == pytest.approx(rates[likelihood.argmax()], abs=1e-3)


def p_of(test: Any) -> float:
    return float(test.pvalue)


def test_means_are_tested_as_scipy_does() -> None:
    rng = np.random.default_rng(4)
    a, b = rng.normal(1.0, 1.0, 30), rng.normal(1.1, 2.0, 50)
    low = p_of(stats.ttest_1samp(a - 1, -0.4, alternative="greater"))
    high = p_of(stats.ttest_1samp(a - 1, 0.4, alternative="less"))
    assert equivalent_means(a - 1, 0.4).p_value == pytest.approx(max(low, high))
    low = p_of(stats.ttest_ind(a + 0.8, b, equal_var=False, alternative="greater"))
    high = p_of(stats.ttest_ind(a - 0.8, b, equal_var=False, alternative="less"))
    assert equivalent_task_means([a], [b], 0.8).p_value == pytest.approx(max(low, high))


def test_tasks_have_equal_weight() -> None:
    rng = np.random.default_rng(5)
    a, b = ([rng.normal(m, 0.1, n) for m, n in zip((0, 1), (10, 500), strict=True)] for _ in "ab")
    found = equivalent_task_means(a, b, 0.2)
    expected = np.mean([one.mean() - other.mean() for one, other in zip(a, b, strict=True)])
    assert found.difference == pytest.approx(expected)
    assert found.equivalent


@pytest.mark.parametrize(("rate", "margin"), [(0.5, 0.1), (0.8, 0.1), (0.85, 0.05)])
@pytest.mark.parametrize("n", [50, 150])
def test_rates_that_differ_by_the_margin_are_called_alike_in_about_5_percent_at_most(rate, margin, n) -> None:
    """All outcomes of two arms, with their exact probabilities."""
    of_a, of_b = binomial(n, np.array([rate + margin / 2]))[0], binomial(n, np.array([rate - margin / 2]))[0]
    likely = [(i, j) for i in range(n + 1) for j in range(n + 1) if of_a[i] * of_b[j] > 1e-7]
    alike = sum(of_a[i] * of_b[j] for i, j in likely if equivalent_rates(i, n, j, n, margin).equivalent)
    assert alike <= 0.06


def test_pairs_that_differ_by_the_margin_are_called_alike_in_about_5_percent_at_most() -> None:
    rng = np.random.default_rng(6)
    drawn = rng.multinomial(100, [0.5, 0.2, 0.1, 0.2], 3000).tolist()
    alike = [equivalent_paired_rates(Discordance(*counts), 0.1).equivalent for counts in drawn]
    assert np.mean(alike) <= 0.06
    equal = rng.multinomial(500, [0.6, 0.05, 0.05, 0.3], 200).tolist()
    assert np.mean([equivalent_paired_rates(Discordance(*counts), 0.1).equivalent for counts in equal]) > 0.95


def test_where_nothing_can_be_tested_nothing_is_equivalent() -> None:
    empty = [
        equivalent_paired_rates(Discordance(0, 0, 0, 0), 0.1),
        equivalent_rates(0, 0, 3, 4, 0.1),
        equivalent_means(np.array([0.5]), 0.1),
        equivalent_means(np.zeros(5), 0.1),
        equivalent_task_means([np.zeros(1)], [np.zeros(4)], 0.1),
        equivalent_task_means([], [], 0.1),
    ]
    for found in empty:
        assert not found.equivalent
        assert found.interval is None
        assert found.method.startswith("none: ")


@pytest.mark.parametrize("margin", [0.0, -0.1, float("nan"), float("inf")])
def test_a_margin_that_is_none_is_refused(margin: float) -> None:
    with pytest.raises(ValueError, match=r"it lies above 0, 0\.05 for instance"):
        equivalent_rates(1, 2, 1, 2, margin)
