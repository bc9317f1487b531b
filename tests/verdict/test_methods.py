"""Methods: the agent is the unit, whatever the number of trials."""

from __future__ import annotations

import pytest

from proctor.stats import Interval, student_t
from proctor.verdict.methods import Member, judge_methods


def members(name: str, *values: float | None) -> list[Member]:
    return [Member(f"{name}_{i}", value) for i, value in enumerate(values)]


def test_a_method_is_the_mean_of_its_members_with_students_interval() -> None:
    (method,) = judge_methods({"ppo": members("ppo", 0.5, 0.7, 0.9)}, "score").methods
    assert method.value == pytest.approx(0.7)
    assert method.std == pytest.approx(0.2)
    assert method.interval == pytest.approx(student_t([0.5, 0.7, 0.9], 0.95))  # type: ignore[arg-type]


def test_swapping_names_swaps_the_verdict() -> None:
    good, bad = (0.8, 0.82, 0.9, 0.85), (0.2, 0.3, 0.25, 0.1)
    for names in (("a", "b"), ("b", "a")):
        found = judge_methods({names[0]: members("x", *good), names[1]: members("y", *bad)}, "score")
        (pair,) = found.pairs
        assert (pair.a, pair.b) == names
        assert found.different(pair)
        assert pair.difference > 0


def test_many_trials_behind_few_members_make_nothing_significant() -> None:
    """Two trainings each: the means are far apart, and nothing is known of how trainings differ."""
    found = judge_methods({"a": members("a", 0.9, 0.8), "b": members("b", 0.2, 0.3)}, "score")
    (pair,) = found.pairs
    assert pair.test is None
    assert pair.p_adjusted is None
    assert not found.different(pair)


def test_a_member_without_a_value_leaves_the_method_without_one() -> None:
    found = judge_methods({"a": members("a", None, 0.9, 1.0), "b": members("b", 0.2, 0.3, 0.1)}, "score")
    assert [(method.name, method.value is None) for method in found.methods] == [("b", False), ("a", True)]
    assert found.pairs == ()


def test_unscored_trials_that_could_turn_it_round_leave_no_winner() -> None:
    good = [Member(f"a{i}", 0.7, Interval(0.1, 0.8)) for i in range(4)]
    found = judge_methods({"a": good, "b": members("b", 0.2, 0.3, 0.25, 0.1)}, "success")
    (pair,) = found.pairs
    assert pair.p_adjusted is not None
    assert pair.p_adjusted <= 0.05
    assert pair.worst < 0
    assert not found.different(pair)


def test_rates_stay_between_0_and_1() -> None:
    (method,) = judge_methods({"a": members("a", 0.95, 1.0, 0.9)}, "success").methods
    assert method.interval is not None
    assert method.interval.high == 1.0


def test_p_values_are_holms() -> None:
    groups = {name: members(name, *(level + step for step in (0.0, 0.01, 0.02, 0.03))) for name, level in
              (("a", 0.8), ("b", 0.5), ("c", 0.2))}  # fmt: skip
    found = judge_methods(groups, "score")
    assert [pair.p_adjusted for pair in found.pairs] == pytest.approx([6 / 70] * 3)


def test_no_interval_reaches_beyond_what_scores_lie_within() -> None:
    groups = {"j": members("j", 0.05, 0.1, 0.9), "angled": members("a", 0.0, 0.1, 0.95)}
    free, bounded = judge_methods(groups, "score"), judge_methods(groups, "score", limits=Interval(0.0, 1.0))
    for wide, own in zip(free.methods, bounded.methods, strict=True):
        assert wide.interval is not None
        assert wide.interval.low < 0
        assert own.interval == (0.0, min(1.0, wide.interval.high))
    (wide_pair,), (pair,) = free.pairs, bounded.pairs
    assert wide_pair.interval is not None
    assert pair.interval == (max(-1.0, wide_pair.interval.low), min(1.0, wide_pair.interval.high))
