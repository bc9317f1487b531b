"""What a report says of `stop_when`: why trials ended early or did not, with the interval that holds in spite of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from proctor.report import text
from proctor.report.model import Finding, Report
from proctor.stats import Verdict
from proctor.verdict.stopping import Stop

MOST_SENTENCES = 3
"""Pairs up to which the verdict has a sentence for each."""


def stop_findings(report: Report) -> Iterator[Finding]:
    """A sentence for each test, then what the other intervals are worth."""
    stops = _meant(report)
    if len(stops) < len(report.context.stops):
        yield Finding("caution", "stop_when watches success, and nothing says what that is on some task.")
    after = {agent.agent: agent.overall.n_after_stop for agent in report.agents}
    yield from (Finding("note", stop_sentence(stop, after)) for stop in stops)
    if any(stop.settled for stop in stops):
        yield Finding(
            "note",
            "Intervals of agents that were stopped early are, in all tables, those of a fixed number of trials; after "
            "a stop, rely on the interval that is given with it.",
        )


def _meant(report: Report) -> list[Stop]:
    """Tests that mean something: none of success where nothing says what it is."""
    defined = all(task.defines_success for task in report.tasks)
    return [stop for stop in report.context.stops if defined or stop.measure == "score"]


def stopped_verdict(report: Report) -> str:
    """What tests that may stop early have settled between agents; "" where none has stopped. Many pairs are named by
    their better agents only: the findings have a sentence for each."""
    compared = [stop for stop in _meant(report) if len(stop.agents) == 2]
    ended = [stop for stop in compared if stop.settled]
    if len(compared) <= MOST_SENTENCES or not ended:
        after = {agent.agent: agent.overall.n_after_stop for agent in report.agents}
        return " ".join(stop_sentence(stop, after) for stop in ended)
    settled = [f"{stop.better} over {_other(stop)}" for stop in compared if stop.better is not None]
    rest = [" and ".join(stop.agents) for stop in compared if stop.better is None]
    opening = f"Settled {len(settled)} of {len(compared)} pairs"
    named = f"{opening}: {', '.join(settled)}" if settled else opening
    unsettled = f"; not settled: {', '.join(rest)}" if rest else ""
    return f"{named}{unsettled} (chance of any false difference at most {compared[0].alpha:g})."


def _other(stop: Stop) -> str:
    return next(agent for agent in stop.agents if agent != stop.better)


def stop_sentence(stop: Stop, after: dict[str, int]) -> str:
    """Why it stopped, or that it did not. `after`: trials of each agent that came after the stop."""
    many = sum(after.get(agent, 0) for agent in stop.agents)
    words, unit = (_comparison(stop), "pair") if len(stop.agents) == 2 else (_precision(stop), "trial")
    skipped = f" Skipped for unscored trials: {text.count(stop.skipped, unit)}." if stop.skipped else ""
    return words + skipped + (f" In no rate: {text.count(many, 'trial')} that ran beyond the stop." if many else "")


def _comparison(stop: Stop) -> str:
    a, b = stop.agents
    so_far = f"{stop.n:,} of at most {text.count(stop.max_trials, 'pair')} of trials"
    if stop.verdict is Verdict.DIFFERENT:
        does = "succeeds more often" if stop.measure == "success" else "scores higher"
        among = f" among {stop.family} pairs" if stop.family > 1 else ""
        return (
            f"Stopped after {so_far}: {stop.better} {does} than {_other(stop)} "
            f"(chance of a false difference{among} at most {stop.alpha:g}). {_difference(stop)}."
        )
    if stop.verdict is Verdict.FUTILE and stop.chance is not None and stop.futility is not None:
        return (
            f"Stopped after {so_far} without a settled difference between {a} and {b}: as things stand, the chance to "
            f"settle one by the maximum is {text.percent(stop.chance)}, below the limit of "
            f"{text.percent(stop.futility)}. {_difference(stop)}."
        )
    if stop.verdict is Verdict.MAXIMUM:
        return f"{a} against {b} went on to the maximum of {so_far} without a settled difference. {_difference(stop)}."
    return f"Not stopped: {a} against {b} is not settled after {so_far}. {_difference(stop)}."


def _difference(stop: Stop) -> str:
    a, b = stop.agents
    if stop.estimate is None:
        return "Nothing was read yet"
    if stop.measure == "success":
        return f"Success of {a} minus {b}: {text.percent(stop.estimate)}, {_valid(stop)}"
    return f"Score of {a} minus {b}: {text.number(stop.estimate)}, {_valid(stop)}"


def _precision(stop: Stop) -> str:
    (agent,) = stop.agents
    so_far = f"{stop.n:,} of at most {text.count(stop.max_trials, 'trial')}"
    rate = "nothing was read yet" if stop.estimate is None else f"{text.percent(stop.estimate)}, {_valid(stop)}"
    why = {
        Verdict.PRECISE: f"stopped after {so_far}, because the interval is at most {stop.width:g} wide",
        Verdict.MAXIMUM: f"went on to the maximum of {so_far} before the interval was {stop.width:g} wide",
    }.get(stop.verdict, f"not stopped after {so_far}: the interval is wider than {stop.width:g}")
    return f"{agent}: {why}; success rate {rate}."


def _valid(stop: Stop) -> str:
    if stop.interval is None:
        return "with too few pairs for an interval that is valid at every look"
    low, high = (_end(stop, end) for end in stop.interval)
    together = f" and for all {stop.family} pairs together" if stop.family > 1 else ""
    return f"{text.percent(1 - stop.alpha)} interval {low} to {high}, valid at every look{together}"


def _end(stop: Stop, value: float) -> str:
    if stop.measure == "score":
        return text.number(value)
    return text.percent(value)


def stop_keys(report: Report) -> dict[str, Any]:
    """For `report.json`; no key for runs without `stop_when`."""
    after = {agent.agent: agent.overall.n_after_stop for agent in report.agents}
    tests = [_test_keys(stop) for stop in report.context.stops]
    found = {"tests": tests, "trials_after_stop": after, "trials_spared": report.context.spared}
    return {"stopping": found} if tests else {}


def _test_keys(stop: Stop) -> dict[str, Any]:
    names = {"verdict": "why", "width": "interval_width"}
    keys = {names.get(name, name): value for name, value in asdict(stop).items() if name != "place"}
    own = {"stopped": stop.settled, "why": stop.verdict.value, "pairs": stop.pairs and stop.pairs._asdict()}
    return {**keys, **own}
