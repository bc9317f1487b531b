"""All files of a report, each written whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from proctor.config.models import EvalConfig
from proctor.record.batch import TrialBatch
from proctor.record.columns import Trials
from proctor.report.build.aggregate import report_of
from proctor.report.formats.base import formats_of, write_formats
from proctor.report.model import Report, ReportContext
from proctor.scoring import make_scoring
from proctor.scoring.columns import scored_trials

Prepare = Callable[[Report], None]


def write_reports(
    folder: Path,
    cfg: EvalConfig,
    batches: Iterable[TrialBatch],
    context: ReportContext,
    out: Path | None = None,
    prepare: Prepare | None = None,
) -> Report:
    """Write the report of these trials into `folder`, in the formats of the config, and what its sections write beside
    it. `batches` gives the finished trials in plan order. Equal trials give equal bytes, `context` aside. `out`: the
    files are written there, and only the records are read from `folder`. `prepare` is called with the numbers before
    sections read the folder."""
    formats = formats_of(cfg.report)
    report, trials = drawn_up(folder, cfg, batches, context, out or folder, prepare)
    write_formats(out or folder, report, trials, formats)
    return report


def drawn_up(
    folder: Path,
    cfg: EvalConfig,
    batches: Iterable[TrialBatch],
    context: ReportContext,
    out: Path,
    prepare: Prepare | None = None,
) -> tuple[Report, Trials]:
    """The report of these trials, and the trials themselves; what its sections write goes to `out`."""
    trials = scored_trials(cfg, batches, make_scoring(cfg.scoring, context.base), context.initial_states)
    report = report_of(cfg, trials, context)
    if prepare is not None:
        prepare(report)
    shown = tuple(shown.filled(folder, report, out) for shown in report.sections)
    return replace(report, sections=shown), trials
