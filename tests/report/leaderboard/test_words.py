"""Numbers and sentences of a leaderboard."""

from __future__ import annotations

import pytest

from proctor.report.leaderboard.words import gap_words, signed, value_words
from proctor.stats import Interval
from proctor.verdict.leaderboard import Gap
from proctor.verdict.leaderboard.gaps import EXACT


@pytest.mark.parametrize(
    ("value", "words"), [(0.0, "0.00"), (-0.0, "0.00"), (1.204, "+1.20"), (-0.0002, "−2.0e-04"), (-1234.5, "−1,234")]
)
def test_contributions_have_a_sign_and_are_never_rounded_away(value: float, words: str) -> None:
    assert signed(value) == words


def test_no_value_is_shown_as_minus_nothing() -> None:
    assert value_words(-0.00001, Interval(-0.001, 0.001)) == "0.0000"
    assert value_words(-0.5, Interval(-1.0, 0.0)) == "−0.5"


def test_a_difference_says_what_it_rests_on() -> None:
    gap = Gap("a", "b", 1.25, Interval(0.5, 2.0), 0.004, None, True, 30, True)
    assert gap_words(gap, 0.95) == "difference 1.2 to b (95 % interval 0.5 to 2.0, 30 pairs of episodes, p = 0.004)"
    one = Gap("a", "b", 1.25, None, None, EXACT, True, 1, True)
    assert gap_words(one, 0.95) == "difference 1.25 to b (exact, as no seed changes an episode)"
    apart = Gap("a", "b", 1.25, Interval(0.5, 2.0), 0.0004, None, True, 60, False)
    assert gap_words(apart, 0.95) == "difference 1.2 to b (95 % interval 0.5 to 2.0, 60 episodes, p < 0.001)"
