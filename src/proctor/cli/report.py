"""`proctor report`: write and show the reports of a run folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from proctor.cli.options import Json, RunPath, Sets, Trust, console, print_cautions, report_file, write_files

if TYPE_CHECKING:
    from proctor.record.rundir import RunDir
    from proctor.report import Report


def report_command(
    run: RunPath,
    sets: Sets = None,
    trust: Trust = False,
    out: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Where to write the files; default: the run's folder.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Write the report files of a run, and show its table.

    The numbers come from the ledger; the run may still be going on. What is in these files: --set
    report.aggregates=[iqm,median], --set report.intervals=hierarchical, --set agents.ppo_1.group=ppo.
    """
    from proctor.record.rundir import RunDir
    from proctor.runs.report import write_report

    folder = RunDir.open(run, trust=trust)
    written = write_files("report", out or folder.path, lambda place: write_report(folder, sets or [], place))
    show(RunDir(out) if out is not None else folder, written, as_json)


def show(run: RunDir, report: Report, as_json: bool) -> None:
    """The ranked table, the cautions and where the files are; as JSON, the whole report."""
    from proctor.report.console import below_ranking, ranked_table

    if as_json:
        typer.echo(json.dumps(run.report(), allow_nan=False))
        return
    out = console(120)
    for part in (ranked_table(report), *below_ranking(report)):
        out.print(part)
    print_cautions(out, report)
    typer.echo(f"report: {report_file(run.path)}")
