"""`proctor run`: a whole examination in a new folder."""

from __future__ import annotations

from typing import Annotated

import typer

from proctor.cli.options import Json, Name, Quiet, Root, Sets, changes_of, follow
from proctor.errors import InputError


def run_command(
    config: Annotated[str | None, typer.Argument(metavar="CONFIG", help="A YAML file.")] = None,
    config_option: Annotated[
        str | None, typer.Option("--config", metavar="CONFIG", help="The config file, as an option.")
    ] = None,
    sets: Sets = None,
    shard: Annotated[
        str | None, typer.Option(metavar="I/N", help="Run part I of N; join the parts with merge.")
    ] = None,
    out: Root = None,
    name: Name = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Examine every agent on every task, in a new run folder.

    The run may be stopped or killed at any moment; `proctor resume RUN` goes on where it was.
    """
    from proctor.cli.trust import confirmed
    from proctor.config import load_config
    from proctor.plan.plan import Shard
    from proctor.runs.start import start

    if (config is None) == (config_option is None):
        raise InputError("name one config file: proctor run CONFIG")
    file = config or config_option or ""
    cfg = load_config(file, sets or []).model_copy(update=changes_of(out, name))
    cfg = confirmed(cfg)
    part = None if shard is None else Shard.parse(shard)
    follow(lambda hooks: start(cfg, hooks, part, config=file), as_json=as_json, quiet=quiet)
