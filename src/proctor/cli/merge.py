"""`proctor merge`: join the folders of a sharded run."""

from __future__ import annotations

from typing import Annotated

import typer

from proctor.cli.options import Trust


def merge_command(
    runs: Annotated[list[str], typer.Argument(metavar="RUN RUN ...", help="Run folders made with run --shard.")],
    trust: Trust = False,
) -> None:
    """Join the folders of a sharded run into a new one.

    Also writes the reports of the new folder.
    """
    from proctor.runs.merge import merge

    merged = merge(runs, trust=trust)
    with merged.ledger() as ledger:
        planned, done = ledger.counts()
    typer.echo(f"merged: {merged.path} ({done} of {planned} trials)")
    if done < planned:
        typer.echo(f"to run the rest: proctor resume {merged.path}")
