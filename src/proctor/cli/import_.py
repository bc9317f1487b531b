"""`proctor import`: outcomes from a CSV file as a run folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from proctor.cli.options import Json, Sets


def import_command(
    outcomes: Annotated[str, typer.Argument(metavar="OUTCOMES.csv", help="A row per trial.")],
    name: Annotated[str | None, typer.Option(help="Name of the run; default: the file's name.")] = None,
    task: Annotated[str, typer.Option(help="Task of the rows that name none.")] = "task",
    output_root: Annotated[
        str, typer.Option(metavar="FOLDER", help="Where the run folder is made.")
    ] = "results/eval_runs",
    sets: Sets = None,
    as_json: Json = False,
) -> None:
    """Make a run folder of outcomes that were counted elsewhere.

    For trials on a real robot, for example; report and compare read the folder like any other.

    Columns: agent and success, and if you have them task, trial, seed, score, steps, max_steps, outcome, case, rater,
    blind; other columns with numbers are metrics. Trials with a seed are paired between agents. What the report shows:
    --set report.aggregates=[iqm].
    """
    from proctor.cli.report import show
    from proctor.runs.import_outcomes import ImportOptions, import_outcomes

    options = ImportOptions(name or Path(outcomes).stem, output_root, task, tuple(sets or ()))
    run, report = import_outcomes(outcomes, options)
    if not as_json:
        typer.echo(f"imported: {run.path}")
    show(run, report, as_json)
