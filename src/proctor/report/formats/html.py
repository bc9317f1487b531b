"""`report.html`: one file, no network, no script. Its frame is in `page`, its sections in `sections` and beside it, its
drawings in `svg` and `charts`."""

from __future__ import annotations

from proctor.report import text
from proctor.report.draw.page import Page, render
from proctor.report.draw.palette import fill_rules
from proctor.report.draw.svg import esc
from proctor.report.model import Report
from proctor.report.sections import cases as case_sections
from proctor.report.sections import evidence
from proctor.report.sections import results as sections
from proctor.report.sections import rivals as rival_sections
from proctor.report.sections.differences import differences
from proctor.report.sections.extremes import extremes
from proctor.suites.endovascular.report import section as vessel
from proctor.suites.endovascular.report.drawing import scale_rules
from proctor.suites.soccer.report import sections as term_sections
from proctor.suites.tracking.report import section as tracking

SECTIONS = (
    ("ranking", "Ranking", sections.ranking),
    ("targets", "Targets", case_sections.targets),
    ("findings", "Findings", sections.findings),
    ("intervals", "Intervals", sections.intervals),
    ("differences", "Differences", lambda report: differences(report.comparison)),
    ("profiles", "Profiles", rival_sections.profiles),
    ("curves", "Over training", rival_sections.curves),
    ("tasks", "Agents by task", sections.heat_maps),
    ("tracking", "Motion tracking", tracking.tracking),
    ("vessels", "Path and wall force", vessel.vessels),
    ("cases", "Case by case", case_sections.cases),
    ("trials", "Every trial", evidence.strips),
    ("extremes", "Worst and slowest trials", extremes),
    ("components", "What the score is made of", term_sections.components),
    ("failures", "How trials ended", evidence.endings),
    ("metrics", "Metrics", sections.metrics),
    ("how", "How it was run", evidence.how),
)


def to_html(report: Report) -> str:
    """The whole page. Everything that comes from a config or a result is escaped."""
    footer = (
        f"{esc(report.name)} · generated {esc(report.context.generated_at)} by Proctor.\n"
        "Every number here can be recomputed from the run folder with <code>proctor score</code>."
    )
    return render(
        Page(
            overline="Examination report",
            name=report.name,
            verdict=report.verdict,
            facts=_facts(report),
            sections=[(key, title, draw(report)) for key, title, draw in SECTIONS],
            footer=footer,
            styles=_styles(report),
        )
    )


def _styles(report: Report) -> list[str]:
    """What only comparisons, only terms, only targets and cases, and only pictures of vessels need."""
    terms = ["leaderboard.css"] if term_sections.adds_up(report) else []
    compared = ["comparison.css"] if terms or report.comparison or report.profiles or report.trainings else []
    cases = ["tracking.css", fill_rules()] if report.targets or report.cases else []
    return [*compared, *terms, *cases, *(["vessel.css", scale_rules()] if report.passages else [])]


def _facts(report: Report) -> list[tuple[str, str]]:
    facts = [
        ("Agents", f"{len(report.agents):,}"),
        ("Tasks", f"{len(report.tasks):,}"),
        ("Trials scored", f"{report.scored:,} of {report.planned:,}"),
        ("Scoring", esc(report.scoring.name)),
        ("Took", text.duration(report.context.duration_s)),
    ]
    cautions = sum(finding.level == "caution" for finding in report.findings)
    return [*facts, ("Cautions", f'<a href="#findings">{cautions}</a>')] if cautions else facts
