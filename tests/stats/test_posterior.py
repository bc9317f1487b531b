"""Posteriors of success rates: laws, a closed form, numerical integration, coverage."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats
from scipy.special import betaln

from proctor.stats import Posterior, posterior, probability_best, probability_better

counts = st.integers(0, 300).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


def closed_form(a: Posterior, b: Posterior) -> float:
    """P(a > b) as a sum, where both distributions have whole numbers (Miller 2015)."""
    return sum(
        math.exp(betaln(b.a + i, a.b + b.b) - math.log(a.b + i) - betaln(1 + i, a.b) - betaln(b.a, b.b))
        for i in range(int(a.a))
    )


@given(counts, counts)
def test_with_a_uniform_prior_the_chance_to_be_better_is_a_known_sum(a: tuple[int, int], b: tuple[int, int]) -> None:
    one, other = posterior(*a, prior=(1, 1)), posterior(*b, prior=(1, 1))
    assert probability_better(one, other) == pytest.approx(closed_form(one, other), abs=1e-10)


@pytest.mark.parametrize(("a", "b"), [((7, 10), (5, 10)), ((0, 3), (3, 3)), ((40, 50), (180, 250)), ((0, 0), (1, 4))])
def test_with_jeffreys_prior_it_is_what_scipy_integrates(a: tuple[int, int], b: tuple[int, int]) -> None:
    one, other = posterior(*a), posterior(*b)
    ours, theirs = stats.beta(one.a, one.b), stats.beta(other.a, other.b)
    expected, _ = integrate.quad(lambda u: float(theirs.cdf(ours.ppf(u))), 0, 1, epsabs=1e-11, limit=400)
    assert probability_better(one, other) == pytest.approx(expected, abs=1e-8)


@given(counts, counts)
def test_one_of_two_is_better_and_names_and_meanings_can_be_swapped(a: tuple[int, int], b: tuple[int, int]) -> None:
    one, other = posterior(*a), posterior(*b)
    assert probability_better(one, other) + probability_better(other, one) == pytest.approx(1, abs=1e-10)
    failing, others = (posterior(n - k, n) for k, n in (a, b))
    assert probability_better(failing, others) == pytest.approx(probability_better(other, one), abs=1e-10)
    assert probability_better(one, one) == pytest.approx(0.5, abs=1e-10)


@given(st.lists(counts, min_size=1, max_size=6))
def test_somebody_is_the_best(found: list[tuple[int, int]]) -> None:
    chances = probability_best([posterior(*counted) for counted in found])
    assert sum(chances) == pytest.approx(1, abs=1e-9)


def test_the_best_of_three_is_the_one_that_is_drawn_highest_most_often() -> None:
    three = [posterior(8, 10), posterior(30, 40), posterior(3, 6)]
    rng = np.random.default_rng(8)
    drawn = np.array([rng.beta(found.a, found.b, 400_000) for found in three])
    shares = np.bincount(drawn.argmax(axis=0), minlength=3) / drawn.shape[1]
    assert probability_best(three) == pytest.approx(shares.tolist(), abs=4e-3)


def test_a_million_trials_and_narrow_against_wide_are_integrated_as_well() -> None:
    wide, narrow = posterior(5, 10), posterior(500_000, 1_000_000)
    assert probability_better(wide, narrow) == pytest.approx(0.5, abs=1e-10)
    close = posterior(999_999, 1_000_000), posterior(999_990, 1_000_000)
    drawn = [np.random.default_rng(i).beta(found.a, found.b, 400_000) for i, found in enumerate(close)]
    assert probability_better(*close) == pytest.approx(float(np.mean(drawn[0] > drawn[1])), abs=3e-4)


@given(counts, st.floats(0.5, 0.999))
def test_mean_interval_and_density_are_those_of_the_beta_distribution(found: tuple[int, int], level: float) -> None:
    ours = posterior(*found)
    theirs: Any = stats.beta(found[0] + 0.5, found[1] - found[0] + 0.5)
    low, high = ours.interval(level)
    assert ours.mean == pytest.approx(theirs.mean())
    assert theirs.cdf(high) - theirs.cdf(low) == pytest.approx(level)
    assert ours.above(low) == pytest.approx((1 + level) / 2)
    rates = np.array([0.1, 0.5, 0.8])
    assert ours.density(rates) == pytest.approx(theirs.pdf(rates), rel=1e-7)


@pytest.mark.parametrize("n", [10, 50, 200])
def test_credible_intervals_also_cover_on_average(n: int) -> None:
    """Over rates drawn from the prior, the 95 % interval holds the rate in 95 % of samples, exactly."""
    found = np.array([posterior(k, n).interval() for k in range(n + 1)])
    rates = np.sin((np.arange(4000) + 0.5) / 4000 * math.pi / 2) ** 2
    inside = (found[:, :1] <= rates) & (rates <= found[:, 1:])
    covered = (stats.binom.pmf(np.arange(n + 1)[:, None], n, rates) * inside).sum(axis=0)
    assert covered.mean() == pytest.approx(0.95, abs=1e-3)


def test_without_trials_the_prior_is_left() -> None:
    assert posterior(0, 0) == Posterior(0.5, 0.5)
    assert posterior(3, 4, prior=(2, 6)) == Posterior(5, 7)


def test_counts_and_priors_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ValueError, match="5 successes in 3 trials"):
        posterior(5, 3)
    with pytest.raises(ValueError, match=r"a prior Beta\(0, 1\); both numbers are at least 0.5: Jeffreys' prior is"):
        posterior(1, 3, prior=(0, 1))
