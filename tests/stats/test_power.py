from __future__ import annotations

import numpy as np
import pytest

from proctor.stats import (
    always_valid,
    expected_discordance,
    mcnemar,
    sequential_power,
    trials_after_a_look,
    trials_paired,
    trials_sequential,
    trials_unpaired,
)
from proctor.stats.power import (
    EXACT_PAIRS,
    _normal_paired_power,
    _normal_unpaired_power,
    mcnemar_critical,
    paired_power,
    unpaired_power,
)
from proctor.stats.significance import barnard, binomial


def test_critical_counts_are_where_mcnemar_rejects() -> None:
    for pairs, count in enumerate(mcnemar_critical(120, 0.05)):
        rejected = [k for k in range((pairs + 1) // 2) if mcnemar(k, pairs - k).p_value <= 0.05]
        assert count == (max(rejected) if rejected else -1)


def test_paired_power_by_enumeration() -> None:
    n, ahead, behind = 14, 0.5, 0.1
    ways = [
        (mcnemar(b, c).p_value <= 0.05) * multinomial(n, b, c, ahead, behind)
        for b in range(n + 1)
        for c in range(n + 1 - b)
    ]
    assert paired_power(n, ahead - behind, ahead + behind) == pytest.approx(sum(ways), abs=1e-12)


def multinomial(n: int, b: int, c: int, p: float, q: float) -> float:
    return float(binomial(n, np.array([p]))[0, b] * binomial(n - b, np.array([q / (1 - p)]))[0, c])


def test_unpaired_power_by_enumeration() -> None:
    n = 9
    rejected = np.array([[barnard(a, n, b, n).p_value <= 0.05 for b in range(n + 1)] for a in range(n + 1)])
    expected = binomial(n, np.array([0.9]))[0] @ rejected @ binomial(n, np.array([0.3]))[0]
    assert unpaired_power(n, 0.9, 0.3) == pytest.approx(expected, abs=1e-12)
    assert unpaired_power(n, 0.3, 0.9) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("difference", "discordant"), [(0.03, 0.1), (0.04, 0.3), (0.05, 0.6)])
def test_the_normal_approximation_takes_over_without_a_jump(difference: float, discordant: float) -> None:
    exact = paired_power(EXACT_PAIRS, difference, discordant)
    assert _normal_paired_power(EXACT_PAIRS, difference, discordant, 0.05) == pytest.approx(exact, abs=0.02)


@pytest.mark.parametrize(("a", "b"), [(0.6, 0.5), (0.85, 0.75), (0.4, 0.25)])
def test_so_does_the_unpaired_one(a: float, b: float) -> None:
    assert _normal_unpaired_power(200, a, b, 0.05) == pytest.approx(unpaired_power(200, a, b), abs=0.03)


def test_the_number_of_pairs_is_the_smallest_that_does() -> None:
    found = trials_paired(0.2, 0.5)
    assert found.n is not None
    assert found.power >= 0.8
    assert found.method == "exact McNemar"
    assert min(paired_power(found.n + k, 0.2, 0.5) for k in range(13)) >= 0.8
    assert paired_power(found.n - 1, 0.2, 0.5) < 0.8


def test_the_number_of_trials_grows_as_the_difference_shrinks() -> None:
    few, many = trials_unpaired(0.9, 0.5), trials_unpaired(0.9, 0.7)
    assert few.n is not None
    assert many.n is not None
    assert few.n < many.n
    assert few.method == "Barnard's exact test"
    large = trials_unpaired(0.87, 0.83)
    assert large.n == pytest.approx(1250, abs=15)
    assert large.method == "score test, normal approximation"
    assert trials_paired(0.0005, 0.5).n is None


def test_the_sequential_test_needs_a_little_more_and_stops_earlier() -> None:
    fixed, found = trials_paired(0.25, 0.5), trials_sequential(0.25, 0.5)
    assert fixed.n is not None
    assert found.n is not None
    assert fixed.n <= found.n <= 1.1 * fixed.n
    power, mean = sequential_power(found.n, 0.25, 0.5)
    assert power >= 0.8
    assert mean < 0.85 * found.n


def test_discordance_of_independent_and_of_alike_trials() -> None:
    assert expected_discordance(0.9, 0.6) == pytest.approx(0.9 * 0.4 + 0.6 * 0.1)
    assert expected_discordance(0.9, 0.6, correlation=1) == pytest.approx(0.3)
    assert expected_discordance(0.5, 0.5, correlation=-1) == 1.0
    with pytest.raises(ValueError, match=r"a rate of 1\.2"):
        expected_discordance(1.2, 0.5)


def test_bad_questions_are_refused() -> None:
    with pytest.raises(ValueError, match="a difference of 0;"):
        trials_paired(0, 0.5)
    with pytest.raises(
        ValueError, match=r"0\.1 of pairs with different outcomes; it lies between the difference, 0\.2, and 1"
    ):
        trials_paired(0.2, 0.1)
    with pytest.raises(ValueError, match="a power of 80;"):
        trials_unpaired(0.5, 0.4, power=80)


def test_so_many_trials_after_a_look_settle_a_difference_as_often_as_promised() -> None:
    rng = np.random.default_rng(0)
    for seen in (rng.normal(0.6, 1, 12), np.repeat([1.0, 0.0, -1.0], (7, 5, 2)), rng.exponential(size=10)):
        n = trials_after_a_look(seen).n
        assert n is not None
        for trials, enough in ((n, True), (n // 2, False)):
            settled = [always_valid(rng.choice(seen, trials)).p_value <= 0.05 for _ in range(300)]
            assert (np.mean(settled) >= 0.78) == enough


def test_signs_that_all_agree_still_need_enough_seeds() -> None:
    n = trials_after_a_look(np.ones(3)).n
    assert n is not None
    assert always_valid(np.ones(n)).p_value <= 0.05
    assert trials_after_a_look(np.ones(3), alpha=0.001).n > n
    assert trials_after_a_look(np.array([1e-5 + 1.0, -1.0])).n is None
    with pytest.raises(ValueError, match="average 0"):
        trials_after_a_look(np.array([1.0, -1.0]))
