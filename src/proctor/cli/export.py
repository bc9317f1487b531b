"""`proctor export`: recorded episodes as CSV, as a recording of Rerun, or as a data set of LeRobot."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from proctor.cli.options import RunPath, Trust


def export_command(
    run: RunPath,
    trials: Annotated[
        list[str] | None,
        typer.Argument(metavar="TRIAL", help="Which trials, as for proctor replay; without any, all finished ones."),
    ] = None,
    csv: Annotated[
        Path | None, typer.Option("--csv", metavar="FILE", help="A row for each step, a column for each signal.")
    ] = None,
    rerun: Annotated[
        Path | None, typer.Option("--rerun", metavar="FILE.rrd", help="For the Rerun viewer: plots, films, positions.")
    ] = None,
    lerobot: Annotated[
        Path | None, typer.Option("--lerobot", metavar="DIR", help="A LeRobot data set (format 3.0) of the episodes.")
    ] = None,
    agent: Annotated[list[str] | None, typer.Option(help="Trials of this agent alone; may be repeated.")] = None,
    task: Annotated[list[str] | None, typer.Option(help="Trials of this task alone; may be repeated.")] = None,
    outcome: Annotated[
        list[str] | None, typer.Option(help="Trials with this outcome alone, such as failure; may be repeated.")
    ] = None,
    filmed: Annotated[bool, typer.Option("--filmed", help="Only trials of which there is a film.")] = False,
    trust: Trust = False,
) -> None:
    """Write recorded episodes for other tools.

    Reads the records alone: neither simulator nor model is needed, and the run is left as it is. For what policies saw
    record observations (record.observations: true) and films (record.level: video, record.video.trials: all).
    """
    from proctor.errors import InputError
    from proctor.record.rundir import RunDir
    from proctor.runs.export import Choice, chosen, write_csv, write_lerobot, write_rerun

    kinds = ((csv, write_csv), (rerun, write_rerun), (lerobot, write_lerobot))
    wanted = [(path, write) for path, write in kinds if path is not None]
    if not wanted:
        raise InputError("say what to write: --csv FILE, --rerun FILE.rrd or --lerobot DIR")
    choice = Choice(tuple(trials or ()), tuple(agent or ()), tuple(task or ()), tuple(outcome or ()), filmed)
    episodes = chosen(RunDir.open(run, trust=trust), choice)
    for path, write in wanted:
        for note in write(episodes, path):
            typer.echo(f"note: {note}")
        typer.echo(f"{len(episodes):,} {'trial' if len(episodes) == 1 else 'trials'}: {path}")
