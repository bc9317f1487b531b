"""`proctor examples`: the configs, agents and small checkpoints that come with Proctor."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

examples_app = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="Configs, agents and small checkpoints to start from."
)


@examples_app.callback()
def _examples() -> None:
    pass


@examples_app.command("list")
def list_command(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
) -> None:
    """List the examples, with a sentence for each."""
    from proctor.cli.shipped import abouts

    found = abouts()
    width = max(map(len, found))
    lines = (f"{name.ljust(width)}  {about}" for name, about in found.items())
    typer.echo(json.dumps(found, indent=2) if as_json else "\n".join(lines))


@examples_app.command("copy")
def copy_command(folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new folder, or an empty one.")]) -> None:
    """Copy all examples into a folder, to run and to change.

    Nothing is written over. The configs name agents and checkpoints by paths inside the folder, so it may lie anywhere.
    """
    from proctor.cli.shipped import DEMO, copy

    count = copy(folder)
    typer.echo(f"{count} files in {folder}; to begin: proctor run {folder / DEMO}")
