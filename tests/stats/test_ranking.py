from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.stats import holm, letters

p_values = st.lists(st.floats(0, 1), min_size=1, max_size=12)


@given(p_values)
def test_holm_keeps_the_order_and_lies_between_the_p_value_and_bonferronis(p: list[float]) -> None:
    found = holm(p)
    for raw, adjusted in zip(p, found, strict=True):
        assert raw <= adjusted <= min(1, len(p) * raw) + 1e-15
    for i, j in combinations(range(len(p)), 2):
        assert (p[i] <= p[j]) <= (found[i] <= found[j])


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([]) == []
    with pytest.raises(ValueError, match="between 0 and 1"):
        holm([0.2, float("nan")])


def test_holm_makes_a_false_alarm_as_rarely_as_promised() -> None:
    drawn = np.random.default_rng(0).random((4000, 6))
    alarms = np.mean([min(holm(row)) <= 0.05 for row in drawn.tolist()])
    assert alarms <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 4000)


names = list("ABCDEF")
relations = st.sets(st.sampled_from(list(combinations(names, 2))))


@given(relations)
def test_agents_share_a_letter_exactly_where_they_are_not_told_apart(different: set[tuple[str, str]]) -> None:
    found = letters(names, different)
    for pair in combinations(names, 2):
        assert bool(set(found[pair[0]]) & set(found[pair[1]])) == (pair not in different)
    assert "a" in found["A"]


def test_letters_by_hand() -> None:
    assert letters("ABCD", [("A", "C"), ("A", "D"), ("B", "D")]) == {"A": "a", "B": "ab", "C": "bc", "D": "c"}
    assert letters(["x", "y"], []) == {"x": "a", "y": "a"}
    assert letters([], []) == {}
    with pytest.raises(ValueError, match="not among the names: z"):
        letters(["x"], [("x", "z")])
    with pytest.raises(ValueError, match="not different from itself"):
        letters(["x"], [("x", "x")])


def test_after_z_letters_are_set_apart() -> None:
    many = [str(i) for i in range(28)]
    found = letters(many, combinations(many, 2))
    assert (found["25"], found["26"], found["27"]) == ("z", "aa", "ab")
