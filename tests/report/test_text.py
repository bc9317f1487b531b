import pytest

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
        (-2.5e-5, "-2.50e-05"),
    ],
)
def test_numbers(value: float | None, words: str) -> None:
    assert text.number(value) == words


@pytest.mark.parametrize(
    ("value", "words"),
    [(None, "–"), (0, "0 %"), (0.004, "0.4 %"), (0.5, "50 %"), (0.996, "99.6 %"), (1, "100 %")],
)
def test_percent_never_rounds_to_certainty(value: float | None, words: str) -> None:
    assert text.percent(value) == words


def test_a_mean_has_the_decimals_that_its_interval_justifies() -> None:
    assert text.mean(MeanEstimate(0.123456, 9, interval=Interval(0.1, 0.2))) == "0.12"
    assert text.mean(MeanEstimate(123.456, 9, interval=Interval(100, 150))) == "123"
    assert text.span(Interval(0.499, 0.501)) == "0.4990 to 0.5010"
    assert text.mean(MeanEstimate(0.5, 1)) == "0.500"


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
