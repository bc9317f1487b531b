"""What a score is made of, where it is a sum of terms: stacked bars task by task."""

from __future__ import annotations

from typing import Any

from proctor.report.draw.markup import lead
from proctor.report.draw.term_bars import term_bars, term_legend
from proctor.report.model import Report
from proctor.report.section import Section

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
        bars = [term_bars(_of_task(report, task.task, terms), task.task) for task in report.tasks[:MAX_TASKS]]
        return lead(words) + term_legend(terms) + "".join(bars)


def _terms(report: Report) -> list[str]:
    """Terms that have a value, `steps` last."""
    found = [n for a in report.agents for n, mean in a.overall.components.items() if mean.mean is not None]
    return sorted(dict.fromkeys(found), key=lambda term: term == "steps")


def _of_task(report: Report, task: str, terms: list[str]) -> dict[str, dict[str, float]]:
    found = {a.agent: c.summary.components for a in report.agents[:MAX_AGENTS] for c in a.cells if c.task == task}
    means = {agent: {t: own[t].mean if t in own else None for t in terms} for agent, own in found.items()}
    return {agent: {term: mean or 0.0 for term, mean in parts.items()} for agent, parts in means.items()}
