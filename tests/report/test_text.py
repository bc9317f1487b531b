import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.report import text
from proctor.report.draw.svg import axis_for
from proctor.report.model import MeanEstimate
from proctor.stats import Interval


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "–"),
        (float("nan"), "–"),
        (0.0, "0"),
        (0.1234, "0.123"),
        (0.01234, "0.0123"),
        (1.0, "1.00"),
        (9.876, "9.88"),
        (12.34, "12.3"),
        (123.4, "123"),
        (12345.6, "12,346"),
        (1.5e7, "1.50e+07"),
        (-2.5e-5, "−2.50e−05"),
        (-2.2e-16, "0"),
        (-0.5, "−0.500"),
    ],
)
def test_numbers(value: float | None, words: str) -> None:
    assert text.number(value) == words


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "–"),
        (0, "0 %"),
        (0.004, "0.4 %"),
        (0.5, "50 %"),
        (0.996, "99.6 %"),
        (1, "100 %"),
        (-0.25, "−25 %"),
        (-1e-16, "0 %"),
    ],
)
def test_percent_never_rounds_to_certainty(value: float | None, words: str) -> None:
    assert text.percent(value) == words


def test_a_mean_has_the_decimals_that_its_interval_justifies() -> None:
    assert text.mean(MeanEstimate(0.123456, 9, interval=Interval(0.1, 0.2))) == "0.12"
    assert text.mean(MeanEstimate(123.456, 9, interval=Interval(100, 150))) == "123"
    assert text.span(Interval(0.499, 0.501)) == "0.4990 to 0.5010"
    assert text.mean(MeanEstimate(0.5, 1)) == "0.500"


def test_what_is_0_to_the_precision_of_its_interval_has_no_sign() -> None:
    assert text.fixed(-2.2e-16, Interval(-0.1, 0.1)) == "0.00"
    assert text.fixed(-0.004, Interval(-0.1, 0.1)) == "0.00"
    assert text.fixed(-0.02, Interval(-0.1, 0.1)) == "−0.02"
    assert text.span(Interval(-0.1, 1e-17)) == "−0.10 to 0.00"


def test_an_interval_without_width_is_not_known() -> None:
    assert text.span(Interval(1.0, 1.0)) == "–"
    assert text.span(Interval(1.0, 1.0 + 1e-15)) == "–"
    assert text.fixed(1.0, Interval(1.0, 1.0)) == "1.00"


def test_neighbours_of_a_ranking_have_the_digits_that_tell_them_apart() -> None:
    wide, narrow = Interval(0.1, 0.9), Interval(0.67, 0.69)
    assert text.ranked_means([0.683, 0.681], [wide, wide]) == ["0.683", "0.681"]
    assert text.ranked_means([0.684, 0.681], [wide, narrow]) == ["0.684", "0.681"], "0.68 would read as the lesser one"
    assert text.ranked_means([0.5, 0.5], [wide, wide]) == ["0.50", "0.50"], "equal is equal"
    assert text.ranked_means([0.68, 0.6840], [wide, narrow]) == ["0.680", "0.684"], "and 0.68 not as nearly the same"
    assert text.ranked_means([0.9, 0.2, None], [wide, wide, None]) == ["0.90", "0.20", "–"], "no more than needed"
    assert text.ranked_rates([0.8347, 0.8333, 0.5]) == ["83.5 %", "83.3 %", "50 %"]
    assert text.ranked_means([1_234_567.0, 1_234_321.0], [None, None]) == ["1.235e+06", "1.234e+06"]


value = st.floats(-1e7, 1e7, allow_nan=False).map(lambda x: round(x, 6))


@given(st.lists(st.tuples(value, st.floats(1e-4, 1e4)), min_size=1, max_size=8))
def test_a_ranking_reads_in_its_order(drawn: list[tuple[float, float]]) -> None:
    values = [value for value, _ in drawn]
    intervals = [Interval(value - width, value + width) for value, width in drawn]
    words = text.ranked_means(values, intervals)
    read = [float(own.replace(",", "").replace("−", "-")) for own in words]
    assert not any("-" in own for own in words)
    for (a, shown_a), (b, shown_b) in itertools.product(zip(values, read, strict=True), repeat=2):
        assert (a < b) == (shown_a < shown_b)


def test_counts_durations_and_lists() -> None:
    assert [text.count(n, "trial") for n in (0, 1, 2000)] == ["0 trials", "1 trial", "2,000 trials"]
    assert [text.duration(s) for s in (None, 0.5, 61, 3725)] == ["–", "0.50 s", "1 min 01 s", "1 h 02 min"]
    assert text.listed(["a"]) == "a"
    assert text.listed(["a", "b", "c"]) == "a, b and c"
    assert text.listed(list("abcd"), most=2) == "a, b and 2 more"


@pytest.mark.parametrize("values", [[], [0.2, 0.9], [3.0], [-2.0, 150.0], [0.0], [1e6, 1e6 + 3], [-5.0, -5.0]])
def test_an_axis_holds_its_values_with_few_ticks(values: list[float]) -> None:
    axis = axis_for(values)
    assert all(axis.low <= value <= axis.high for value in values)
    assert 2 <= len(axis.ticks) <= 7
    assert axis.ticks[0] == axis.low
    assert axis.x(axis.high) == "97.00%"
