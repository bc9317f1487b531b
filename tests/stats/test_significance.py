from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import bdtr
from scipy.stats import barnard_exact, binomtest

from proctor.stats import Resampling, compare_rates, discordance, mcnemar, sign_flip
from proctor.stats.significance import WHOLE, barnard, barnard_region, binomial, heads, region_probability, z_table

arms = st.integers(1, 25).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(st.integers(0, 80), st.integers(0, 80))
def test_mcnemar_is_the_binomial_test_of_differing_pairs(b: int, c: int) -> None:
    expected = binomtest(b, b + c).pvalue if b + c else 1.0
    assert mcnemar(b, c).p_value == pytest.approx(expected, abs=1e-12)
    assert mcnemar(b, c).p_value == mcnemar(c, b).p_value


def test_probabilities_in_whole_numbers_and_scipys_meet() -> None:
    assert heads(WHOLE // 2 - 300, WHOLE) == pytest.approx(float(bdtr(WHOLE // 2 - 300, WHOLE, 0.5)), rel=1e-9)
    assert heads(WHOLE // 2 - 300, WHOLE + 1) < heads(WHOLE // 2 - 300, WHOLE)
    assert heads(0, 0) == heads(7, 7) == 1.0
    assert heads(0, 3) == 0.125


def test_mcnemar_by_hand() -> None:
    found = mcnemar(9, 1)
    assert found.p_value == pytest.approx(22 / 1024)
    assert (found.method, found.exact, found.statistic) == ("exact McNemar", True, 8.0)
    with pytest.raises(ValueError, match="not negative"):
        mcnemar(-1, 2)


def test_discordance_counts_pairs() -> None:
    assert discordance(np.array([1, 1, 0, 0, 1]), np.array([1, 0, 1, 0, 0])) == (1, 2, 1, 1)
    with pytest.raises(ValueError, match="2 outcomes against 3"):
        discordance(np.ones(2), np.ones(3))


@pytest.mark.parametrize("case", [(7, 12, 2, 10), (3, 15, 11, 20), (0, 30, 4, 25), (40, 60, 22, 55)])
def test_barnard_equals_scipys(case: tuple[int, int, int, int]) -> None:
    a, n_a, b, n_b = case
    expected = barnard_exact([[a, b], [n_a - a, n_b - b]], pooled=True, n=64).pvalue
    assert barnard(*case).p_value == pytest.approx(expected, abs=1e-6)


@given(arms, arms)
def test_barnard_does_not_care_which_agent_or_outcome_comes_first(one: tuple[int, int], two: tuple[int, int]) -> None:
    (a, n_a), (b, n_b) = one, two
    found = barnard(a, n_a, b, n_b).p_value
    assert found == pytest.approx(barnard(b, n_b, a, n_a).p_value, abs=1e-6)
    assert found == pytest.approx(barnard(n_a - a, n_a, n_b - b, n_b).p_value, abs=1e-6)
    assert 0 < found <= 1


@pytest.mark.parametrize("n", [5, 17, 40])
def test_barnards_region_keeps_the_error_rate_and_is_where_p_is_small(n: int) -> None:
    region = barnard_region(n, 0.05)
    assert region_probability(region, np.linspace(0, 1, 2001)).max() <= 0.05 + 1e-9
    if n == 17:
        p_values = np.array([[barnard(a, n, b, n).p_value for b in range(n + 1)] for a in range(n + 1)])
        assert np.array_equal(region > 0, p_values <= 0.05)


def test_above_200_per_arm_the_score_test_is_named() -> None:
    exact, approximate = compare_rates(120, 200, 100, 200), compare_rates(121, 201, 100, 200)
    assert (exact.method, exact.exact) == ("Barnard's exact test", True)
    assert (approximate.method, approximate.exact) == ("score test", False)
    assert exact.p_value == pytest.approx(approximate.p_value, abs=0.01)
    assert compare_rates(600, 1000, 500, 1000).p_value == pytest.approx(6.9e-6, rel=0.03)
    with pytest.raises(ValueError, match="an arm has no trial"):
        compare_rates(0, 0, 1, 3)
    with pytest.raises(ValueError, match="4 successes in 3 trials"):
        compare_rates(4, 3, 1, 2)


def test_all_alike_is_no_difference() -> None:
    assert barnard(0, 9, 0, 12).p_value == 1.0
    assert compare_rates(300, 300, 300, 300).p_value == 1.0


def test_signs_by_hand() -> None:
    """Three differences of one sign: two of eight arrangements are as far out. Zeros do not count."""
    assert sign_flip(np.array([1.0, 2.0, 4.0])).p_value == 0.25
    assert sign_flip(np.array([1.0, 0.0, 2.0, 4.0, 0.0])).p_value == 0.25
    assert sign_flip(np.zeros(5)).p_value == 1.0
    assert sign_flip(np.array([])).p_value == 1.0
    with pytest.raises(ValueError, match="must be finite"):
        sign_flip(np.array([1.0, np.nan]))


@given(st.integers(0, 40), st.integers(0, 40), st.floats(1e-3, 1e3))
def test_on_outcomes_flipping_signs_is_mcnemar(wins: int, losses: int, size: float) -> None:
    found = sign_flip(size * np.array([1.0] * wins + [-1.0] * losses))
    assert (found.p_value, found.exact) == (mcnemar(wins, losses).p_value, True)


@pytest.mark.parametrize(("wins", "losses"), [(3, 0), (2, 1), (7, 5), (12, 6)])
def test_signs_of_one_size_are_as_all_signs_are_tried(wins: int, losses: int) -> None:
    """One difference that is smaller by next to nothing has all signs tried."""
    differences = np.array([1.0] * wins + [-1.0] * losses)
    nearly = differences * np.r_[1 - 1e-12, np.ones(wins + losses - 1)]
    assert sign_flip(differences).p_value == pytest.approx(sign_flip(nearly).p_value)


def test_drawn_signs_agree_with_all_signs_and_are_seeded() -> None:
    values = np.random.default_rng(0).normal(0.3, 1, size=21)
    signs = 2.0 * ((np.arange(1 << 21)[:, None] >> np.arange(21)) & 1).astype(np.int8) - 1
    exact = np.mean(np.abs(signs @ values) >= abs(values.sum()) - 1e-9)
    one, three = (sign_flip(values, Resampling(19_999, threads=n)) for n in (1, 3))
    assert one == three
    assert one.p_value == pytest.approx(exact, abs=0.012)
    assert (one.method, one.exact) == ("sign-flip permutation, 19,999 drawn", False)
    sizes = np.r_[np.ones(50), 0.1]
    bound = 2 * np.exp(-(sizes.sum() ** 2) / (2 * (sizes**2).sum()))
    assert sign_flip(sizes).p_value == pytest.approx(bound), "Hoeffding's bound"


def test_sign_flips_of_many_differences_have_their_normal_limit() -> None:
    rng = np.random.default_rng(6)
    values = rng.exponential(size=20_001) - 0.99
    found = sign_flip(values)
    assert found.method == "sign-flip permutation, normal limit"
    drawn = sign_flip(values[:20_000])
    assert drawn.method == "sign-flip permutation, 9,999 drawn"
    assert found.p_value == pytest.approx(drawn.p_value, abs=0.02)


@pytest.mark.parametrize(("n_a", "n_b"), [(1, 1), (7, 7), (12, 31), (40, 3)])
def test_two_tails_of_every_row_are_the_whole_region(n_a: int, n_b: int):
    """Law: the sum by tails equals the sum over all outcomes, for every region that a statistic can bound."""
    rates = np.linspace(0, 1, 41)
    of_a, of_b = binomial(n_a, rates), binomial(n_b, rates)
    table = np.abs(z_table(n_a, n_b))
    for edge in np.unique(table):
        region = table >= edge * (1 - 1e-9)
        by_outcome = np.einsum("ra,ab,rb->r", of_a, region.astype(float), of_b)
        np.testing.assert_allclose(region_probability(region, rates), by_outcome, atol=1e-13)
