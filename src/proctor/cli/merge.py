"""`proctor merge`: join the folders of a sharded run."""

from __future__ import annotations

from typing import Annotated

import typer

from proctor.cli.options import Json, Name, Root, Trust, run_path


def merge_command(
    runs: Annotated[
        list[str],
        typer.Argument(metavar="RUN RUN ...", help="Run folders made with run --shard.", parser=run_path),
    ],
    out: Root = None,
    name: Name = None,
    trust: Trust = False,
    as_json: Json = False,
) -> None:
    """Join the folders of a sharded run into a new one.

    Also writes the reports of the new folder, and shows the ranking.
    """
    from proctor.cli.options import changes_of
    from proctor.cli.report import show
    from proctor.runs.merge import joined
    from proctor.runs.report import write_report

    merged = joined(runs, changes_of(out, name), trust=trust)
    report = write_report(merged)
    show(merged, report, as_json)
    if as_json:
        return
    with merged.ledger() as ledger:
        planned, done = ledger.counts()
    typer.echo(f"merged: {merged.path} ({done} of {planned} trials)")
    if done < planned:
        typer.echo(f"to run the rest: proctor resume {merged.path}")
