"""`report.html`: one file, no network, no script, with its frame in `draw.page`; and `report.md`: the verdict and its
tables, small enough for a pull-request comment. The parts of both are the sections'."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from proctor.record.columns import Trials
from proctor.report import text
from proctor.report.draw.page import Block, Page, render
from proctor.report.draw.pipes import document, escape, findings
from proctor.report.draw.svg import esc
from proctor.report.formats.base import Format
from proctor.report.formats.files import write_text
from proctor.report.model import Report
from proctor.report.section import Shown


class MarkdownFormat(Format):
    """`report.md`."""

    name = "md"

    def write(self, folder: Path, report: Report, trials: Trials) -> list[str]:
        write_text(folder / "report.md", to_markdown(report))
        return ["report.md"]


def to_markdown(report: Report) -> str:
    """The whole document: name, verdict, findings, sections, time. Long lists are cut, and say so."""
    blocks = [findings(report.findings, "`report.html`"), *_sections(report)]
    return document(report.name, report.verdict, blocks, report.context.generated_at)


def _sections(report: Report) -> Iterator[str]:
    for shown in report.sections:
        words, problem = shown.made(lambda shown=shown: shown.section.markdown(report, shown.data))
        if problem is not None:
            yield f"## {escape(shown.section.title)}\n\nThis section could not be made: {escape(problem)}"
        elif words:
            yield words


class HtmlFormat(Format):
    """`report.html`."""

    name = "html"

    def write(self, folder: Path, report: Report, trials: Trials) -> list[str]:
        write_text(folder / "report.html", to_html(report))
        return ["report.html"]


def to_html(report: Report) -> str:
    """The whole page. Everything that comes from a config or a result is escaped."""
    footer = (
        f"{esc(report.name)} · generated {esc(report.context.generated_at)} by Proctor.\n"
        "Every number here can be recomputed from the run folder with <code>proctor score</code>."
    )
    blocks = [_block(report, shown) for shown in report.sections]
    return render(
        Page(
            overline="Examination report",
            name=report.name,
            verdict=report.verdict,
            facts=_facts(report),
            blocks=[block for block, _ in blocks],
            footer=footer,
            styles=list(dict.fromkeys(styles for block, styles in blocks if block.body and styles)),
        )
    )


def _block(report: Report, shown: Shown) -> tuple[Block, str]:
    """A section and its CSS; where it failed, a line that says why."""
    section = shown.section
    made, problem = shown.made(lambda: (section.html(report, shown.data), section.styles()))
    body, styles = made or ("", "")
    if problem is not None:
        body = f'<p class="failed">This section could not be made: {esc(problem)}</p>\n'
    return Block(section.key, section.title, body), styles


def _facts(report: Report) -> list[tuple[str, str]]:
    facts = [
        ("Agents", f"{len(report.agents):,}"),
        ("Tasks", f"{len(report.tasks):,}"),
        ("Trials scored", f"{report.scored:,} of {report.planned:,}"),
        ("Scoring", esc(report.scoring.name)),
        ("Took", text.duration(report.context.duration_s)),
    ]
    cautions = sum(finding.level == "caution" for finding in report.findings)
    listed = any(shown.section.key == "findings" for shown in report.sections)
    count = f'<a href="#findings">{cautions}</a>' if listed else f"{cautions}"
    return [*facts, ("Cautions", count)] if cautions else facts
