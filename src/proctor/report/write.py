"""All files of a report, each written whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from proctor.config.models import EvalConfig
from proctor.record.result import TrialResult
from proctor.report.aggregate import build_report
from proctor.report.files import write_text
from proctor.report.html import to_html
from proctor.report.joint_errors import read_joint_errors
from proctor.report.jsonfile import write_json
from proctor.report.markdown import to_markdown
from proctor.report.model import Report, ReportContext
from proctor.report.tables import TrialTable, write_agents, write_trials
from proctor.report.vessel_png import write_pictures
from proctor.report.vessel_records import read_passages
from proctor.scoring import make_scoring


def write_reports(
    folder: Path,
    cfg: EvalConfig,
    results: Callable[[], Iterator[TrialResult]],
    context: ReportContext,
) -> Report:
    """Write `summary.csv`, `trials.parquet`, `report.{json,csv,md,html}` and `pictures/` (where there are any) into
    `folder`. `results` is called twice and gives the finished trials in plan order each time. Equal results give equal
    bytes, `context` aside."""
    report = build_report(cfg, results(), context)
    report = replace(
        report, joint_errors=read_joint_errors(folder, report.cases), passages=read_passages(folder, report)
    )
    write_trials(folder, TrialTable(report, make_scoring(cfg.scoring, context.base)), results())
    write_pictures(folder, report.passages)
    write_json(folder / "report.json", report)
    write_agents(folder / "report.csv", report)
    write_text(folder / "report.md", to_markdown(report))
    write_text(folder / "report.html", to_html(report))
    return report
