"""`proctor check`: everything that can be found out before a run."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from proctor.cli.options import Json, Sets

if TYPE_CHECKING:
    from proctor.config.models import EvalConfig
    from proctor.runs.check import Check


def check_command(
    config: Annotated[str, typer.Argument(metavar="CONFIG", help="A YAML file.")],
    sets: Sets = None,
    as_json: Json = False,
    untrusted: Annotated[
        bool, typer.Option("--untrusted", help="List the code that a run would use, with its hash; run none of it.")
    ] = False,
) -> None:
    """Find out before a run what would go wrong in it.

    Validates the config, loads every policy, tries every environment for a few steps, and says how long the run takes.
    A log with tracebacks and what workers printed is kept below output_root. Exit code 2 if a run would fail or its
    numbers would mean nothing. With --untrusted nothing of this is done: a
    config from somebody else is only read.
    """
    if untrusted:
        _list_code(config, sets or [], as_json)
    from proctor.cli.progress import duration
    from proctor.config import load_config
    from proctor.report.text import count

    cfg = load_config(config, sets or [])
    found = _kept(cfg, config)
    if as_json:
        typer.echo(json.dumps({"ok": found.ok, **vars(found)}))
        raise typer.Exit(0 if found.ok else 2)
    for mark, lines in (("ok", found.fine), ("warning", found.warnings), ("PROBLEM", found.problems)):
        for line in lines:
            typer.echo(f"{mark:>8}  {line}")
    counts = {cfg.trials_of(task) for task in cfg.tasks}
    n_agents, each = len(cfg.agents), count(cfg.trials_per_agent, "trial")
    if len(counts) == 1:
        each = f"{count(len(cfg.tasks), 'task')} x {count(counts.pop(), 'trial')}"
    typer.echo(f"{count(n_agents, 'agent')} x {each} = {count(n_agents * cfg.trials_per_agent, 'trial')}")
    if found.seconds is not None and found.ok:
        typer.echo(
            f"at most about {duration(found.seconds)}, if every episode goes to its step limit ({found.steps:,} steps)"
        )
    if found.log is not None:
        typer.echo(f"log: {found.log}")
    raise typer.Exit(0 if found.ok else 2)


def _kept(cfg: EvalConfig, config: str) -> Check:
    """What was found, with a log of it where one can be written."""
    from proctor.runs.check import check, log_path

    file = log_path(cfg, datetime.now())
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        typer.echo(f"no log is kept: {file.parent} cannot be made: {error.strerror}", err=True)
        return check(cfg, config)
    return check(cfg, config, file)


def _list_code(config: str, sets: list[str], as_json: bool) -> NoReturn:
    """All code that the config would run. Exit code 2 where some of it cannot be found."""
    from proctor.runs.untrusted import untrusted_code

    found = untrusted_code(config, sets)
    complete = all(code.found for code in found)
    if as_json:
        typer.echo(json.dumps({"complete": complete, "code": [vars(code) for code in found]}))
        raise typer.Exit(0 if complete else 2)
    for code in found:
        typer.echo(f"{code.where}: {code.target}")
        typer.echo(f"    {code.source}" + ("" if code.file is None else f": {code.file}"))
        if code.sha256 is not None:
            typer.echo(f"    sha256 {code.sha256}")
    if not found:
        typer.echo("This config names no code beside Proctor's own.")
    raise typer.Exit(0 if complete else 2)
