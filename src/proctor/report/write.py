"""All files of a report, each written whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from proctor.config.models import EvalConfig
from proctor.record.batch import TrialBatch, batched
from proctor.record.result import TrialResult
from proctor.report.build.accumulate import Columns
from proctor.report.build.aggregate import report_of
from proctor.report.formats.files import write_text
from proctor.report.formats.html import to_html
from proctor.report.formats.json_file import write_json
from proctor.report.formats.markdown import to_markdown
from proctor.report.formats.tables import TrialTable, write_agents, write_trials
from proctor.report.model import Report, ReportContext
from proctor.scoring import make_scoring
from proctor.suites.endovascular.report.png import write_pictures
from proctor.suites.endovascular.report.records import read_passages
from proctor.suites.tracking.report.joint_errors import read_joint_errors


def write_reports(
    folder: Path,
    cfg: EvalConfig,
    results: Callable[[], Iterator[TrialResult]],
    context: ReportContext,
) -> Report:
    """Write `summary.csv`, `trials.parquet`, `report.{json,csv,md,html}` and `pictures/` (where there are any) into
    `folder`. `results` gives the finished trials in plan order. Equal results give equal
    bytes, `context` aside."""
    return write_batches(folder, cfg, batched(results()), context)


def write_batches(folder: Path, cfg: EvalConfig, batches: Iterable[TrialBatch], context: ReportContext) -> Report:
    """As `write_reports`, of trials that come in batches."""
    columns = Columns(cfg, batches, make_scoring(cfg.scoring, context.base))
    report = report_of(cfg, columns, context)
    report = replace(
        report, joint_errors=read_joint_errors(folder, report.cases), passages=read_passages(folder, report)
    )
    write_trials(folder, TrialTable(report, columns.trials))
    write_pictures(folder, report.passages)
    write_json(folder / "report.json", report)
    write_agents(folder / "report.csv", report)
    write_text(folder / "report.md", to_markdown(report))
    write_text(folder / "report.html", to_html(report))
    return report
