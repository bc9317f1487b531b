"""`proctor import`: outcomes that were counted elsewhere as a run folder."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from proctor.cli.options import Json, Sets


def import_command(
    outcomes: Annotated[
        str, typer.Argument(metavar="FILE", help="CSV with a row per trial, or a file of another evaluator.")
    ],
    name: Annotated[str | None, typer.Option(help="Name of the run; default: the file's name.")] = None,
    task: Annotated[str, typer.Option(help="Task of the rows that name none.")] = "task",
    kind: Annotated[
        str | None, typer.Option("--format", help="csv, lerobot, vla-eval or inspect; default: by the content.")
    ] = None,
    agent: Annotated[str | None, typer.Option(help="Name of the agent, in files that have one agent.")] = None,
    scorer: Annotated[str | None, typer.Option(help="The scorer of an Inspect log that decides.")] = None,
    output_root: Annotated[
        str, typer.Option(metavar="FOLDER", help="Where the run folder is made.")
    ] = "results/eval_runs",
    sets: Sets = None,
    as_json: Json = False,
) -> None:
    """Make a run folder of outcomes that were counted elsewhere.

    For trials on a real robot, for example, or of another evaluator; report and compare read the folder like any other.
    Read are CSV files, eval_info.json of LeRobot, results of vla-eval, and logs of Inspect.

    Columns of a CSV file: agent and success, and if you have them task, trial, seed, score, steps, max_steps, outcome,
    case, rater, blind; other columns with numbers are metrics. Trials with a seed are paired between agents. What the
    report shows: --set report.aggregates=[iqm].
    """
    from proctor.cli.report import show
    from proctor.runs.import_outcomes import ImportOptions, import_outcomes
    from proctor.runs.outcomes.reading import Reading, plain_name

    named = name or plain_name(Path(outcomes))
    reading = Reading(kind, agent, scorer)
    found = import_outcomes(outcomes, ImportOptions(named, output_root, task, tuple(sets or ()), reading))
    for note in found.notes:
        print(f"note: {note}", file=sys.stderr)
    if not as_json:
        typer.echo(f"imported: {found.run.path}")
    show(found.run, found.report, as_json)
