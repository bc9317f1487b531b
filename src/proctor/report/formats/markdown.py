"""`report.md`: the verdict and its tables, small enough for a pull-request comment. Its parts are the sections'."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from proctor.record.columns import Trials
from proctor.report.draw.pipes import document, escape, findings
from proctor.report.formats.base import Format
from proctor.report.formats.files import write_text
from proctor.report.model import Report


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
