"""An interval of a difference and its test say the same of 0, and no interval holds what cannot be."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.stats import Interval
from proctor.verdict.comparison import AgentTrials, JudgeCfg, Pair, TaskTrials, judge
from proctor.verdict.comparison.pairs import compare_pair

LIMITS = Interval(0.0, 1.0)
RETURNS = ([500.0] * 10, [500.0, 499.0, 500.0, 499.5, 500.0, 499.0, 499.5, 500.0, 12.0, 499.0])
"""Of ten trials, one came to nothing."""


def agent(name: str, scores: list[np.ndarray], pairs: bool = True) -> AgentTrials:
    tasks = {
        f"t{i}": TaskTrials(np.arange(len(own)), own > 0.5, own, np.array([], dtype=np.int64), np.arange(len(own)))
        for i, own in enumerate(scores)
    }
    return AgentTrials(name, tasks, pairs)


def drawn(seed: int, n: int, tasks: int, kind: str) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    level, found = rng.uniform(0.2, 0.9), []
    for _ in range(tasks):
        spread = {
            "binary": (rng.random(n) < level).astype(float),
            "smooth": np.clip(rng.normal(level, 0.2, n), 0, 1),
            "rare": np.where(rng.random(n) < 0.15, rng.random(n), level),
            "steps": np.round(rng.random(n) * level * 4) / 4,
        }
        found.append(spread[kind])
    return found


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 14),
    tasks=st.integers(1, 3),
    kind=st.sampled_from(["binary", "smooth", "rare", "steps"]),
    paired=st.booleans(),
    level=st.sampled_from([0.8, 0.95]),
    looked=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_an_interval_leaves_out_zero_exactly_where_p_is_small_and_stays_in_range(
    seed: int, n: int, tasks: int, kind: str, paired: bool, level: float, looked: bool
) -> None:
    a, b = agent("a", drawn(seed, n, tasks, kind), paired), agent("b", drawn(seed + 1, n, tasks, kind), paired)
    pair = compare_pair(a, b, JudgeCfg(level, n_resamples=200, limits=LIMITS, looked=looked))
    for own in pair.differences.values():
        if own.interval is None or own.value is None:
            continue
        assert -1 <= own.interval.low <= own.value <= own.interval.high <= 1
        if own.test is None:
            continue
        excluded = own.interval.low >= 0 or own.interval.high <= 0
        if looked:
            assert own.test.p_value <= 1 - level or not excluded
        else:
            assert excluded == (own.test.p_value <= 1 - level + 1e-12)


def returns(limits: Interval | None = None) -> Pair:
    a, b = (agent(name, [np.array(own)]) for name, own in zip("ab", RETURNS, strict=True))
    return compare_pair(a, b, JudgeCfg(limits=limits))


def test_ten_pairs_of_which_one_differs_have_an_interval_that_can_be_read() -> None:
    found = returns().score
    assert found.value == pytest.approx(49.2)
    assert found.interval is not None
    assert found.test is not None
    assert -500 < found.interval.low < 0 < found.interval.high < 500
    assert found.test.p_value > 0.05


def test_limits_of_scores_are_limits_of_differences() -> None:
    found = returns(Interval(0.0, 500.0)).score
    assert found.interval is not None
    assert found.interval.low >= -500
    assert found.interval.high <= 500


def test_intervals_of_all_pairs_stay_in_range_too() -> None:
    agents = [agent(name, [np.array([value] * 9 + [0.0])]) for name, value in (("a", 0.99), ("b", 0.5), ("c", 0.02))]
    for pair in judge(agents, JudgeCfg(limits=LIMITS)).pairs:
        assert pair.score.simultaneous is not None
        assert -1 <= pair.score.simultaneous.low <= pair.score.simultaneous.high <= 1


def test_a_rounding_error_is_no_difference() -> None:
    equal = [np.array([0.1 + 0.2, 0.7, 0.9]), np.array([0.3, 0.7, 0.9])]
    found = compare_pair(agent("a", equal[:1]), agent("b", equal[1:]), JudgeCfg()).score
    assert (found.value, found.test, found.untested) == (0.0, None, "no pair of trials differs")
