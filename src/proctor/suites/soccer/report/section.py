"""What a score is made of, where it is a sum of terms: stacked bars task by task."""

from __future__ import annotations

from typing import Any

from proctor.config.models import ScoringCfg
from proctor.report.draw.markup import lead
from proctor.report.draw.term_bars import term_bars, term_legend
from proctor.report.model import Report, Summary
from proctor.report.section import Section
from proctor.scoring import make_scoring
from proctor.verdict.leaderboard.model import BROKEN

SUM = "terminal"
"""The scoring that adds up terms."""
MAX_AGENTS, MAX_TASKS = 20, 12


class Terms(Section):
    """What each term adds to the score, in runs of any suite that are scored by a sum of terms."""

    key, title, place = "terms", "What each term adds", 145
    stylesheets = ("proctor.report/comparison.css", "proctor.report/terms.css")

    def html(self, report: Report, data: Any) -> str:
        terms = _terms(report) if report.scoring.name == SUM else []
        if not terms:
            return ""
        words = (
            "Value times weight on the last step, the mean over episodes. Costs reach to the left of zero, gains to "
            "the right; the upright line is their sum."
        )
        by_task = {task.task: _of_task(report, task.task, terms) for task in report.tasks[:MAX_TASKS]}
        broken = any(BROKEN in parts for own in by_task.values() for parts in own.values())
        listed = [*terms, BROKEN] if broken else terms
        bars = [
            term_bars({agent: {t: parts.get(t, 0.0) for t in listed} for agent, parts in own.items()}, task)
            for task, own in by_task.items()
        ]
        return lead(words) + term_legend(listed) + "".join(bars)


def _terms(report: Report) -> list[str]:
    """Terms that have a value, in the order of the tables, task by task, `steps` last: the order in which a leaderboard
    has them, so that a term has one colour on both pages."""
    scoring = make_scoring(ScoringCfg.model_validate(report.scoring.settings), report.context.base)
    found = {n for a in report.agents for n, mean in a.overall.components.items() if mean.mean is not None}
    terms = dict.fromkeys(term for task in report.tasks for term in scoring.term_weights(task.task) if term in found)
    return sorted(terms, key=lambda term: term == scoring.step_term)


def _of_task(report: Report, task: str, terms: list[str]) -> dict[str, dict[str, float]]:
    found = {a.agent: c.summary for a in report.agents[:MAX_AGENTS] for c in a.cells if c.task == task}
    return {agent: _parts(summary, terms) for agent, summary in found.items()}


def _parts(summary: Summary, terms: list[str]) -> dict[str, float]:
    """What each term adds to the mean score over all scored trials; those that the policy broke add their floor."""
    own = {term: summary.components[term] for term in terms if term in summary.components}
    parts = {term: found.mean * found.n / summary.n for term, found in own.items() if found.mean is not None}
    whole = all(found.n == summary.n for found in own.values())
    if whole or summary.score.mean is None:
        return parts
    return {**parts, BROKEN: summary.score.mean - sum(parts.values())}
