"""What a report says of `stop_when`: why trials ended early or did not, with the interval that holds in spite of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from proctor.report import text
from proctor.report.model import Finding, Report
from proctor.stats import Verdict
from proctor.verdict.stopping import Stop


def stop_findings(report: Report) -> Iterator[Finding]:
    """A sentence for each test, then what the other intervals are worth."""
    after = {agent.agent: agent.overall.n_after_stop for agent in report.agents}
    yield from (Finding("note", stop_sentence(stop, after)) for stop in report.context.stops)
    if any(stop.settled for stop in report.context.stops):
        yield Finding(
            "note",
            "Intervals of agents that were stopped early are, in all tables, those of a fixed number of trials; after "
            "a stop, rely on the interval that is given with it.",
        )


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
        other = b if stop.better == a else a
        return (
            f"Stopped after {so_far}: {stop.better} succeeds more often than {other} "
            f"(chance of a false difference at most {stop.alpha:g}). {_difference(stop)}."
        )
    if stop.verdict is Verdict.MAXIMUM:
        return f"{a} against {b} went on to the maximum of {so_far} without a settled difference. {_difference(stop)}."
    return f"Not stopped: {a} against {b} is not settled after {so_far}. {_difference(stop)}."


def _difference(stop: Stop) -> str:
    a, b = stop.agents
    if stop.estimate is None:
        return "Nothing was read yet"
    return f"Success of {a} minus {b}: {_signed(stop.estimate)}, {_valid(stop)}"


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
    level, ends = text.percent(1 - stop.alpha), stop.interval
    low, high = (_signed(end) if len(stop.agents) == 2 else text.percent(end) for end in ends)
    return f"{level} interval {low} to {high}, valid at every look"


def _signed(value: float) -> str:
    return text.percent(value) if value >= 0 else f"-{text.percent(-value)}"


def stop_keys(report: Report) -> dict[str, Any]:
    """For `report.json`; no key for runs without `stop_when`."""
    after = {agent.agent: agent.overall.n_after_stop for agent in report.agents}
    tests = [
        {
            "agents": stop.agents,
            "stopped": stop.settled,
            "why": stop.verdict.value,
            "better": stop.better,
            "n": stop.n,
            "skipped": stop.skipped,
            "max_trials": stop.max_trials,
            "alpha": stop.alpha,
            "interval_width": stop.width,
            "estimate": stop.estimate,
            "interval": stop.interval,
            "pairs": stop.pairs and stop.pairs._asdict(),
            "method": stop.method,
        }
        for stop in report.context.stops
    ]
    found = {"tests": tests, "trials_after_stop": after, "trials_spared": report.context.spared}
    return {"stopping": found} if tests else {}
