"""Numbers and sentences of a leaderboard."""

from __future__ import annotations

import pytest

from proctor.report import text
from proctor.report.leaderboard.words import signed
from proctor.stats import Interval


@pytest.mark.parametrize(
    ("value", "words"), [(0.0, "0.00"), (-0.0, "0.00"), (1.204, "+1.20"), (-0.0002, "−2.0e−04"), (-1234.5, "−1,234")]
)
def test_contributions_have_a_sign_and_are_never_rounded_away(value: float, words: str) -> None:
    assert signed(value) == words


def test_no_value_is_shown_as_minus_nothing() -> None:
    assert text.fixed(-0.00001, Interval(-0.001, 0.001)) == "0.0000"
    assert text.fixed(-0.5, Interval(-1.0, 0.0)) == "−0.5"
