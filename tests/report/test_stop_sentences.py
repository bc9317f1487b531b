"""What a report says of a test that stopped, word for word."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

from proctor.report.build.stops import stop_sentence, stopped_verdict
from proctor.report.model import Report
from proctor.stats import Interval, Verdict
from proctor.verdict.stopping import Stop

RATES = Stop(
    agents=("a", "b"),
    verdict=Verdict.DIFFERENT,
    n=21,
    skipped=0,
    place=21,
    estimate=0.3,
    interval=Interval(0.05, 0.5),
    alpha=0.05,
    max_trials=100,
    method="",
    better="a",
)


def said(**changes: Any) -> str:
    return stop_sentence(replace(RATES, **changes), {})


def test_a_settled_difference_of_scores_names_scores() -> None:
    assert said(measure="score", estimate=0.25, interval=Interval(0.01, 0.5)) == (
        "Stopped after 21 of at most 100 pairs of trials: a scores higher than b (chance of a false difference at most "
        "0.05). Score of a minus b: 0.250, 95 % interval 0.0100 to 0.500, valid at every look."
    )
    assert said(measure="score", verdict=Verdict.GO_ON, better=None, n=3, interval=None) == (
        "Not stopped: a against b is not settled after 3 of at most 100 pairs of trials. Score of a minus b: 0.300, "
        "with too few pairs for an interval that is valid at every look."
    )


def test_one_of_several_pairs_says_for_how_many_it_holds() -> None:
    assert said(family=3) == (
        "Stopped after 21 of at most 100 pairs of trials: a succeeds more often than b (chance of a false difference "
        "among 3 pairs at most 0.05). Success of a minus b: 30 %, 95 % interval 5 % to 50 %, valid at every look and "
        "for all 3 pairs together."
    )


def test_futility_says_how_unlikely_it_has_become() -> None:
    assert said(verdict=Verdict.FUTILE, better=None, chance=0.02, futility=0.1, n=30, estimate=0.0) == (
        "Stopped after 30 of at most 100 pairs of trials without a settled difference between a and b: as things "
        "stand, the chance to settle one by the maximum is 2 %, below the limit of 10 %. Success of a minus b: 0 %, "
        "95 % interval 5 % to 50 %, valid at every look."
    )


def report(*stops: Stop) -> Report:
    return cast(Report, SimpleNamespace(context=SimpleNamespace(stops=stops), agents=(), tasks=()))


def test_the_verdict_of_many_pairs_names_winners_and_what_is_open() -> None:
    open_pair = replace(RATES, agents=("c", "d"), verdict=Verdict.MAXIMUM, better=None, family=4)
    stops = [replace(RATES, agents=("a", other), family=4) for other in "bcd"]
    assert stopped_verdict(report(*stops, open_pair)) == (
        "Settled 3 of 4 pairs: a over b, a over c, a over d; not settled: c and d (chance of any false difference at "
        "most 0.05)."
    )
    assert stopped_verdict(report(replace(open_pair, verdict=Verdict.GO_ON))) == ""
    assert stopped_verdict(report(RATES)) == stop_sentence(RATES, {})
