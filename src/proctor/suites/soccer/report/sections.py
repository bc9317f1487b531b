"""What a score is made of, where it is a sum of terms: stacked bars task by task, and the numbers."""

from __future__ import annotations

from proctor.report.draw.markup import NONE, lead, small, table
from proctor.report.draw.svg import esc
from proctor.report.leaderboard.term_bars import term_bars, term_legend
from proctor.report.leaderboard.words import signed, span_words
from proctor.report.model import MeanEstimate, Report
from proctor.report.sections import results as sections

SUM = "terminal"
"""The scoring that adds up terms."""
MAX_AGENTS, MAX_TASKS = 20, 12


def adds_up(report: Report) -> bool:
    return report.scoring.name == SUM and bool(_terms(report))


def components(report: Report) -> str:
    """The components of any scoring; those of a sum of terms as what they add to the score."""
    if not adds_up(report):
        return sections.components(report)
    terms, agents = _terms(report), report.agents[:MAX_AGENTS]
    words = (
        "Value times weight on the last step, the mean over episodes. Costs reach to the left of zero, gains to the "
        "right; the upright line is their sum."
    )
    bars = [term_bars(_of_task(report, task.task, terms), task.task) for task in report.tasks[:MAX_TASKS]]
    rows = [[esc(term), *(_cell(agent.overall.components.get(term)) for agent in agents)] for term in terms]
    caption = "Mean of each term over the episodes that have it, with its interval"
    numbers = table(caption, ["Term", *(esc(agent.agent) for agent in agents)], rows, "boards")
    return lead(words) + term_legend(terms) + "".join(bars) + numbers


def _terms(report: Report) -> list[str]:
    """Terms that have a value, `steps` last."""
    found = [n for a in report.agents for n, mean in a.overall.components.items() if mean.mean is not None]
    return sorted(dict.fromkeys(found), key=lambda term: term == "steps")


def _of_task(report: Report, task: str, terms: list[str]) -> dict[str, dict[str, float]]:
    found = {a.agent: c.summary.components for a in report.agents[:MAX_AGENTS] for c in a.cells if c.task == task}
    means = {agent: {t: own[t].mean if t in own else None for t in terms} for agent, own in found.items()}
    return {agent: {term: mean or 0.0 for term, mean in parts.items()} for agent, parts in means.items()}


def _cell(estimate: MeanEstimate | None) -> str:
    if estimate is None or estimate.mean is None:
        return NONE
    n = f"n {estimate.n:,}"
    words = n if estimate.interval is None or estimate.degenerate else f"{span_words(estimate.interval)}, {n}"
    return f"{esc(signed(estimate.mean))} {small(words)}"
