"""What a reader must know, in plain sentences: the verdict, and the cautions that go with it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from proctor.errors import TaskCodeError
from proctor.report import text
from proctor.report.build import judgement
from proctor.report.build.stops import stopped_verdict
from proctor.report.model import AgentReport, Cause, Finding, Report, Summary
from proctor.verdict.comparison import MOST_AGENTS
from proctor.verdict.comparison.cautions import cautions_of
from proctor_host.episode import Outcome

SMALL_N = 20
BROKEN = [outcome for outcome in Outcome if outcome.broken_by_policy]


def verdict(report: Report) -> str:
    """One or two sentences that answer "which agent, and how sure"."""
    if not report.scored:
        return f"No verdict: none of {text.count(report.finished, 'finished trial')} could be scored."
    best, level = report.agents[0], text.percent(report.context.level)
    if len(report.agents) == 1:
        return _alone(report, best, level)
    if best.overall.score.mean is None:
        return "No ranking: no agent has a score for all of its scored trials."
    if sum(agent.overall.score.mean is not None for agent in report.agents) == 1 or report.comparison is None:
        rate = (
            f", success in {text.percent(best.overall.success.rate)} of {text.count(best.overall.success.n, 'trial')}"
        )
        shown = rate if report.defines_success else ""
        return f"{best.agent} ranks first: {_score(best, level)}{shown}. No other agent has a score."
    return stopped_verdict(report) or judgement.verdict(report.comparison)


def _alone(report: Report, agent: AgentReport, level: str) -> str:
    """What a single agent came to."""
    if broken_agents(report):
        first = _causes(report, agent)[0]
        trials = "its only trial" if agent.overall.n_trials == 1 else f"all {agent.overall.n_trials:,} trials"
        return f"No verdict: {agent.agent} broke in {trials}. {first.outcome.replace('_', ' ').capitalize()}: " + (
            first.message
        )
    score = agent.overall.score
    if not report.defines_success:
        return f"{agent.agent} has {'no score' if score.mean is None else _score(agent, level)} in " + (
            f"{text.count(agent.overall.n, 'trial')}; nothing says what success is."
        )
    opening = f"{agent.agent} succeeded in {text.rate_sentence(agent.overall.success, report.context.level)}"
    if "score" not in report.measures:
        return f"{opening}."
    return f"{opening}; it has no score." if score.mean is None else f"{opening} and has {_score(agent, level)}."


def _score(agent: AgentReport, level: str) -> str:
    score = agent.overall.score
    span = f" ({level} interval {text.span(score.interval)})" if score.interval else " (no interval)"
    return f"score {text.mean(score)}{span}"


def find(report: Report) -> tuple[Finding, ...]:
    """The findings of a report, cautions first."""
    about_trials = (_all_broken, _missing, _unscored, out_of_range, _no_scores)
    cautions = (*about_trials, _compared, _repeats, _unknown_spread, _skewed, _small_n)
    notes = (_no_success, _equal_scores, _broken, _notes)
    return (
        *(Finding("caution", said) for rule in cautions for said in rule(report)),
        *(Finding("caution", said) for said in report.context.cautions),
        *(Finding("note", said) for rule in notes for said in rule(report)),
    )


def broken_agents(report: Report) -> list[AgentReport]:
    """Agents of which every finished trial broke, by whatever fault."""
    return [
        agent
        for agent in report.agents
        if agent.overall.n_trials and agent.overall.n_trials == sum(cause.count for cause in _causes(report, agent))
    ]


def _causes(report: Report, agent: AgentReport) -> list[Cause]:
    """What broke an agent's trials, the most frequent first."""
    return [cause for cause in report.causes if cause.agent == agent.agent]


def _all_broken(report: Report) -> Iterator[str]:
    for agent in broken_agents(report):
        first = _causes(report, agent)[0]
        often = "" if first.count == agent.overall.n_trials else f" in {text.count(first.count, 'trial')}"
        yield (
            f"{agent.agent}: every trial broke ({agent.overall.n_trials:,} of {agent.overall.n_trials:,}). "
            f"{first.outcome.replace('_', ' ').capitalize()}{often}: {first.message}"
        )


def out_of_range(report: Report) -> Iterator[str]:
    """A sentence for each agent that the environment did not obey in most of its steps."""
    for agent in report.agents:
        clipped, steps = agent.overall.clipped_steps, agent.overall.steps
        if 2 * clipped > steps:
            yield (
                f"{agent.agent}: {clipped:,} of {text.count(steps, 'action')} ({text.percent(clipped / steps)}) were "
                "out of range and clipped; perhaps its actions are in another unit or scale."
            )


def _missing(report: Report) -> Iterator[str]:
    if report.finished + report.context.spared < report.planned:
        planned = text.count(report.planned, "planned trial")
        yield f"Only {report.finished:,} of {planned} are finished; the numbers are of those."


def _unscored(report: Report) -> Iterator[str]:
    for agent in report.agents:
        summary = agent.overall
        if not summary.n_unscored:
            continue
        causes = _counts(summary, [outcome for outcome in Outcome if not outcome.scored])
        bounds = ""
        if summary.success.bounds is not None:
            worst, best = map(text.percent, summary.success.bounds)
            bounds = f": success between {worst} and {best}, whatever they would have been"
        opening = f"{agent.agent}: {text.count(summary.n_unscored, 'trial')} unscored ({causes}){bounds}."
        yield f"{opening}{_whose_fault(report, agent)}"


def _whose_fault(report: Report, agent: AgentReport) -> str:
    """What may have broken the environment in trials that are unscored for it; empty where it did not break."""
    failed = [f"{cell.task} ({n})" for cell in agent.cells if (n := cell.summary.outcomes.get("env_error", 0))]
    if not failed:
        return ""
    broken = [cause for cause in _causes(report, agent) if cause.outcome == "env_error"]
    kinds = {cause.message.partition(": ")[0].rpartition(".")[2] for cause in broken}
    if kinds == {TaskCodeError.__name__}:
        told = broken[0].message.partition(": ")[2]
        return f" What failed, on {text.listed(failed)}, is code of the task's own, not simulator or agent: {told}."
    return f" The simulator failed on every attempt, on {text.listed(failed)}: the agent may be what drives it there."


def _no_success(report: Report) -> Iterator[str]:
    silent = [task.task for task in report.tasks if not task.defines_success]
    if silent:
        yield (
            f"Nothing says what success is on {text.listed(silent)}: there is no success rate. A task's config may say "
            "it, e.g. success: {return_at_least: 200} in its options."
        )


def _no_scores(report: Report) -> Iterator[str]:
    for agent in report.agents:
        missing = agent.overall.score.n_missing
        broken = sum(agent.overall.outcomes.get(outcome.value, 0) for outcome in BROKEN)
        floorless = broken if report.scoring.floor is None else 0
        if floorless:
            yield (
                f"{agent.agent}: no mean score, because the policy broke {text.count(broken, 'trial')} and the scoring "
                f'"{report.scoring.name}" has no floor for them; set scoring.floor.'
            )
        if missing > floorless:
            scored = text.count(agent.overall.n, "scored trial")
            yield (
                f"{agent.agent}: no mean score, because {missing - floorless} of {scored} gave none; a mean of the "
                "others would be of another sample."
            )


def _compared(report: Report) -> Iterator[str]:
    """What the comparison has to say, and why there is none."""
    if report.comparison is not None:
        yield from cautions_of(report.comparison)
    elif len(report.agents) > MOST_AGENTS:
        yield f"{len(report.agents):,} agents are too many to compare each with each; at most {MOST_AGENTS} are."


def _repeats(report: Report) -> Iterator[str]:
    found = [
        f"{cell.agent} on {cell.task} ({text.count(cell.summary.n_repeats, 'repeat')})"
        for agent in report.agents
        for cell in agent.cells
        if cell.summary.n_repeats
    ]
    if found and report.comparison is None:
        yield (
            "Some trials repeat an episode and count once: their task begins in a few states only, whatever the seed. "
            f"{text.listed(found)}."
        )


def _unknown_spread(report: Report) -> Iterator[str]:
    """Agents whose mean over tasks has no interval, by the tasks that have none themselves."""
    by_reason: dict[str, list[str]] = {}
    for agent in report.agents:
        score = agent.overall.score
        if len(agent.cells) > 1 and score.mean is not None and score.interval is None:
            cells = [cell for cell in agent.cells if cell.summary.n and cell.summary.score.interval is None]
            single = [cell.task for cell in cells if cell.summary.n == 1]
            equal = [cell.task for cell in cells if cell.summary.score.degenerate]
            why = [f"a single scored trial on {text.listed(single)}"] if single else []
            why += [f"equal scores on {text.listed(equal)}"] if equal else []
            by_reason.setdefault(" and ".join(why), []).append(agent.agent)
    for why, agents in by_reason.items():
        because = f" because of {why}: how much scores vary there is not known." if why else "."
        yield f"No interval of the mean score over all tasks ({text.listed(agents)}){because}"


def _skewed(report: Report) -> Iterator[str]:
    found = [c for a in report.agents for c in a.cells if c.summary.score.interval and c.summary.score.doubtful]
    if found:
        names = text.listed([f"{cell.agent} on {cell.task}" for cell in found])
        yield f"Scores are so skewed that intervals of their means may be too narrow: {names}. More trials would show."


def _equal_scores(report: Report) -> Iterator[str]:
    flat = [f"{c.agent} on {c.task}" for a in report.agents for c in a.cells if c.summary.score.degenerate]
    if flat:
        yield (
            "All scores are equal, so there is no score interval: resampling them says nothing about further trials: "
            f"{text.listed(flat)}."
        )


def _broken(report: Report) -> Iterator[str]:
    broken = [f"{a.agent} ({counts})" for a in report.agents if (counts := _counts(a.overall, BROKEN))]
    if broken:
        yield f"Policies themselves ended trials, which count as failures: {text.listed(broken)}."
    clipped = [
        f"{agent.agent} ({agent.overall.clipped_steps:,} in {text.count(agent.overall.clipped_trials, 'trial')})"
        for agent in report.agents
        if 0 < 2 * agent.overall.clipped_steps <= agent.overall.steps
    ]
    if clipped:
        yield f"Actions out of range were clipped: {text.listed(clipped)}."


def _counts(summary: Summary, outcomes: Sequence[Outcome]) -> str:
    """`2 env error, 1 timeout`: how often each of these outcomes came up, those that did."""
    names = [outcome.value for outcome in outcomes if outcome.value in summary.outcomes]
    return ", ".join(f"{summary.outcomes[name]} {name.replace('_', ' ')}" for name in names)


def _small_n(report: Report) -> Iterator[str]:
    smallest = min((c.summary.n for a in report.agents for c in a.cells if c.summary.n), default=SMALL_N)
    if smallest == 1:
        yield "Some agents have a single scored trial on a task: no score interval can be given there."
    elif smallest < SMALL_N:
        yield (
            f"Only {smallest} trials of an agent on a task were scored: with fewer than {SMALL_N}, bootstrap intervals "
            "tend to be too narrow."
        )


def _notes(report: Report) -> Iterator[str]:
    retried = sum(agent.overall.retried_trials for agent in report.agents)
    if retried:
        yield f"{text.count(retried, 'trial')} needed more than one attempt."
    yield from report.context.rounding
    yield from report.context.notes
