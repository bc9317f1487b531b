"""What a reader must know, in plain sentences: the verdict, and the cautions that go with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from proctor.record.episode import Outcome
from proctor.report import text
from proctor.report.build import judgement
from proctor.report.build.stops import stop_sentence
from proctor.report.model import AgentReport, Finding, Report, Summary

SMALL_N = 20
BROKEN = [outcome for outcome in Outcome if outcome.broken_by_policy]


def verdict(report: Report) -> str:
    """One or two sentences that answer "which agent, and how sure"."""
    if not report.scored:
        return f"No verdict: none of {text.count(report.finished, 'finished trial')} could be scored."
    best = report.agents[0]
    if len(report.agents) == 1:
        return _single(report, best)
    if best.overall.score.mean is None:
        return "No ranking: no agent has a score for all of its scored trials."
    ranked = [a for a in report.agents if a.overall.score.mean is not None]
    level = text.percent(report.context.level)
    if len(ranked) == 1 or report.comparison is None:
        return f"{best.agent} ranks first: {_score(best, level)}, success in {_rate(best)}. No other agent has a score."
    return _stopped(report) or judgement.verdict(report.comparison)


def _stopped(report: Report) -> str:
    """What a test that may stop early has settled: it outranks tests for a fixed number of trials."""
    settled = [stop for stop in report.context.stops if len(stop.agents) == 2 and stop.settled]
    after = {agent.agent: agent.overall.n_after_stop for agent in report.agents}
    return " ".join(stop_sentence(stop, after) for stop in settled)


def _single(report: Report, agent: AgentReport) -> str:
    opening = f"{agent.agent} succeeded in {text.rate_sentence(agent.overall.success, report.context.level)}"
    if agent.overall.score.mean is None:
        return opening + "; it has no score."
    return f"{opening} and has {_score(agent, text.percent(report.context.level))}."


def _score(agent: AgentReport, level: str) -> str:
    score = agent.overall.score
    span = f" ({level} interval {text.span(score.interval)})" if score.interval else " (no interval)"
    return f"score {text.mean(score)}{span}"


def _rate(agent: AgentReport) -> str:
    rate = agent.overall.success
    return f"{text.percent(rate.rate)} of {text.count(rate.n, 'trial')}"


def find(report: Report) -> tuple[Finding, ...]:
    """The findings of a report, cautions first."""
    rules = (_missing, _unscored, _no_scores, _copies, _equal_scores, _broken, _small_n, _notes)
    found = [finding for rule in rules for finding in rule(report)]
    return tuple(sorted(found, key=lambda finding: finding.level != "caution"))


def _missing(report: Report) -> Iterator[Finding]:
    if report.finished + report.context.spared < report.planned:
        yield Finding(
            "caution",
            f"Only {report.finished:,} of {text.count(report.planned, 'planned trial')} are finished; "
            "the numbers are of those.",
        )


def _unscored(report: Report) -> Iterator[Finding]:
    for agent in report.agents:
        summary = agent.overall
        if not summary.n_unscored or summary.success.bounds is None:
            continue
        causes = _counts(summary.outcomes, [o.value for o in Outcome if not o.scored])
        worst, best = summary.success.bounds
        yield Finding(
            "caution",
            f"{agent.agent}: {text.count(summary.n_unscored, 'trial')} unscored ({causes}): success between "
            f"{text.percent(worst)} and {text.percent(best)}, whatever they would have been." + _diverged(agent),
        )


def _diverged(agent: AgentReport) -> str:
    where = [f"{cell.task} ({n})" for cell in agent.cells if (n := cell.summary.outcomes.get("env_error", 0))]
    if not where:
        return ""
    tasks = text.listed(where)
    return f" The simulator failed on every attempt, on {tasks}: the agent may be what drives it there."


def _no_scores(report: Report) -> Iterator[Finding]:
    for agent in report.agents:
        missing = agent.overall.score.n_missing
        broken = sum(agent.overall.outcomes.get(o.value, 0) for o in BROKEN)
        floorless = broken if report.scoring.floor is None else 0
        if floorless:
            yield Finding(
                "caution",
                f"{agent.agent}: no mean score, because the policy broke {text.count(broken, 'trial')} and "
                f'the scoring "{report.scoring.name}" has no floor for them; set scoring.floor.',
            )
        if missing > floorless:
            yield Finding(
                "caution",
                f"{agent.agent}: no mean score, because {missing - floorless} of "
                f"{text.count(agent.overall.n, 'scored trial')} gave none; a mean of the others would be of "
                "another sample.",
            )


def _copies(report: Report) -> Iterator[Finding]:
    found = [
        f"{cell.agent} on {cell.task} {s.n_distinct} of {s.n_recorded}"
        for agent in report.agents
        for cell in agent.cells
        for s in [cell.summary]
        if s.n_distinct < s.n_recorded
    ]
    if found:
        yield Finding(
            "caution",
            "Some trials are copies of others: they add no evidence, and the intervals are narrower than "
            f"they should be. Different episodes among those recorded: {text.listed(found)}.",
        )


def _equal_scores(report: Report) -> Iterator[Finding]:
    flat = [f"{c.agent} on {c.task}" for a in report.agents for c in a.cells if c.summary.score.degenerate]
    if flat:
        yield Finding(
            "note",
            "All scores are equal, so there is no score interval: resampling them says nothing about further trials: "
            f"{text.listed(flat)}.",
        )


def _broken(report: Report) -> Iterator[Finding]:
    broken = [
        f"{agent.agent} ({counts})"
        for agent in report.agents
        if (counts := _counts(agent.overall.outcomes, [o.value for o in BROKEN]))
    ]
    if broken:
        yield Finding("note", f"Policies themselves ended trials, which count as failures: {text.listed(broken)}.")
    clipped = [
        f"{agent.agent} ({s.clipped_steps:,} in {text.count(s.clipped_trials, 'trial')})"
        for agent in report.agents
        for s in [agent.overall]
        if s.clipped_steps
    ]
    if clipped:
        yield Finding("note", f"Actions out of range were clipped: {text.listed(clipped)}.")


def _counts(outcomes: Mapping[str, int], names: Sequence[str]) -> str:
    """`2 env error, 1 timeout`: how often each of these outcomes came up, those that did."""
    return ", ".join(f"{outcomes[name]} {name.replace('_', ' ')}" for name in names if name in outcomes)


def _small_n(report: Report) -> Iterator[Finding]:
    summaries: list[Summary] = [cell.summary for agent in report.agents for cell in agent.cells]
    smallest = min((s.n for s in summaries if s.n), default=SMALL_N)
    if smallest == 1:
        yield Finding(
            "caution",
            "Some agents have a single scored trial on a task: no score interval can be given there.",
        )
    elif smallest < SMALL_N:
        yield Finding(
            "caution",
            f"As few as {smallest} scored trials per agent and task: below {SMALL_N}, bootstrap intervals "
            "tend to be too narrow.",
        )


def _notes(report: Report) -> Iterator[Finding]:
    retried = sum(agent.overall.retried_trials for agent in report.agents)
    if retried:
        yield Finding("note", f"{text.count(retried, 'trial')} needed more than one attempt.")
    yield from (Finding("note", note) for note in report.context.notes)
