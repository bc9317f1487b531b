"""Sequential tests: error rates first, by simulation and exactly; then what they decide, and the intervals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import betaln

from proctor.stats import SpendingTest, Verdict, mcnemar, rate_sequence
from proctor.stats.spending import simulate_spending, spending

STREAMS = 10_000


def outcomes(
    seed: int, shape: tuple[int, int], a: float, b: float, shared: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Outcomes of a and b; a share of the seeds decides for both at once."""
    rng = np.random.default_rng(seed)
    one, other = rng.random(shape), rng.random(shape)
    other = np.where(rng.random(shape) < shared, one, other)
    return one < a, other < b


def steps(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a.astype(np.int64) - b.astype(np.int64)


def follow(test: SpendingTest, a: np.ndarray, b: np.ndarray) -> int:
    """The stop of one stream, as the simulations give it."""
    for one, other in zip(a, b, strict=True):
        test.update(bool(one), bool(other))
    if test.decision.better is None:
        return 0
    return test.decision.n if test.decision.better == "a" else -test.decision.n


@pytest.mark.parametrize("rate", [0.05, 0.5, 0.8])
@pytest.mark.parametrize("shared", [0.0, 0.7])
def test_false_alarms_are_at_most_alpha_over_10000_streams_looked_at_after_every_trial(rate, shared) -> None:
    a, b = outcomes(1, (STREAMS, 100), rate, rate, shared)
    assert np.mean(simulate_spending(steps(a, b), 100) != 0) <= 0.05


def test_the_paired_boundary_keeps_alpha_exactly_for_every_pattern_of_differing_pairs() -> None:
    """All 2^n signs of the differing pairs, for patterns that say which pairs differ."""
    n = 12
    signs = 1 - 2 * ((np.arange(1 << n)[:, None] >> np.arange(n)) & 1)
    rng = np.random.default_rng(3)
    for share in (0.3, 0.6, 1.0):
        differ = rng.random(n) < share
        for alpha in (0.05, 0.2):
            for spend in ("late", "even"):
                assert np.mean(simulate_spending(signs * differ, n, alpha, spend) != 0) <= alpha


def test_spending_evenly_stops_sooner_where_a_difference_is_large_and_loses_little_power() -> None:
    a, b = outcomes(5, (2000, 200), 0.9, 0.5)
    late, even = (simulate_spending(steps(a, b), 200, 0.05, spend) for spend in ("late", "even"))
    assert np.mean(even) < 0.7 * np.mean(late)
    a, b = outcomes(6, (4000, 200), 0.6, 0.5)
    late, even = (np.mean(simulate_spending(steps(a, b), 200, 0.05, spend) != 0) for spend in ("late", "even"))
    assert late - 0.1 < even < late


@pytest.mark.parametrize("difference", [(0.6, 0.4), (0.9, 0.6), (0.95, 0.85), (0.5, 0.45)])
def test_power_with_a_maximum_is_at_most_5_points_below_mcnemars(difference: tuple[float, float]) -> None:
    for n in (20, 50, 120):
        a, b = outcomes(4, (4000, n), *difference)
        found = steps(a, b)
        wins, losses = (found > 0).sum(axis=1), (found < 0).sum(axis=1)
        fixed = np.mean([mcnemar(int(w), int(v)).p_value <= 0.05 for w, v in zip(wins, losses, strict=True)])
        assert np.mean(simulate_spending(found, n) != 0) >= fixed - 0.05


@pytest.mark.parametrize("seed", range(3))
def test_trial_by_trial_equals_all_at_once(seed: int) -> None:
    a, b = outcomes(seed, (25, 40), 0.7, 0.45)
    found = steps(a, b)
    assert [follow(SpendingTest(40), x, y) for x, y in zip(a, b, strict=True)] == simulate_spending(found, 40).tolist()


def test_a_clear_difference_stops_early_for_either_agent_and_stays() -> None:
    one, other = SpendingTest(60), SpendingTest(60)
    for _ in range(60):
        one.update(True, False)
        other.update(False, True)
    assert one.decision.verdict is Verdict.DIFFERENT
    assert (one.decision.better, other.decision.better) == ("a", "b")
    assert one.decision.n == other.decision.n < 40
    stopped = one.decision
    assert one.update(False, True) == stopped
    assert one.pairs.n == stopped.n
    assert one.interval().low >= 0
    assert other.interval().high <= 0
    assert one.interval() == pytest.approx((-other.interval().high, -other.interval().low), abs=1e-9)


def test_at_the_maximum_it_stops_without_a_difference() -> None:
    test = SpendingTest(10)
    for i in range(10):
        decision = test.update(i % 2 == 0, i % 2 == 0)
    assert (decision.verdict, decision.n, decision.better, decision.stop) == (Verdict.MAXIMUM, 10, None, True)
    assert test.interval().low < 0 < test.interval().high
    assert "without a settled difference" in decision.verdict


@pytest.mark.parametrize(("a", "b"), [(0.5, 0.5), (0.7, 0.4), (0.95, 0.9)])
def test_intervals_hold_the_difference_at_the_stop(a: float, b: float) -> None:
    """Streams that are stopped as the test says; coverage is at least the nominal 95 %, less three standard errors."""
    held = 0
    for one, other in zip(*outcomes(7, (120, 40), a, b, 0.3), strict=True):
        test = SpendingTest(40)
        follow(test, one, other)
        interval = test.interval()
        held += interval.low <= a - b <= interval.high
    assert held / 120 >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / 120)


def test_spending_ascends_to_alpha_and_refuses_nonsense() -> None:
    budgets = spending(30, 0.05)
    assert budgets[-1] == 0.05
    assert (np.diff(budgets) > 0).all()
    with pytest.raises(ValueError, match="a maximum of 0 trials"):
        SpendingTest(0)
    with pytest.raises(ValueError, match=r"an error rate of 1\.5"):
        SpendingTest(10, 1.5)
    with pytest.raises(ValueError, match=r"expected \(streams, 5\)"):
        simulate_spending(np.zeros((3, 4)), 5)


def test_the_sequence_of_one_rate_holds_it_at_every_look() -> None:
    for rate in (0.02, 0.3, 0.5):
        hits = np.cumsum(np.random.default_rng(9).random((1000, 120)) < rate, axis=1)
        low, high = rate_sequence(hits, np.arange(1, 121))
        assert np.mean(((low <= rate) & (rate <= high)).all(axis=1)) >= 0.95
        assert (high - low).min() > 0


@given(st.integers(0, 300), st.integers(0, 300))
def test_the_ends_of_the_sequence_have_wealth_one_over_alpha(s: int, f: int) -> None:
    low, high = (float(end) for end in rate_sequence(np.array(s), np.array(s + f)))
    assert low == pytest.approx(1 - float(rate_sequence(np.array(f), np.array(s + f))[1]), abs=1e-9)
    for end in ({low, high} - {0.0, 1.0}) if s + f else ():
        wealth = betaln(s + 0.5, f + 0.5) - np.log(np.pi) - s * np.log(end) - f * np.log1p(-end)
        assert wealth == pytest.approx(np.log(20), abs=1e-5)
