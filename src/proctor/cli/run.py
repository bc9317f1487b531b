"""`proctor run`: a whole examination in a new folder."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from proctor.cli.options import Cluster, Json, Name, Quiet, Root, Sets, changes_of, follow, with_cluster
from proctor.errors import InputError

if TYPE_CHECKING:
    from proctor.config.models import EvalConfig, TaskCfg


def run_command(
    config: Annotated[str | None, typer.Argument(metavar="CONFIG", help="A YAML file.")] = None,
    config_option: Annotated[
        str | None, typer.Option("--config", metavar="CONFIG", help="The config file, as an option.")
    ] = None,
    sets: Sets = None,
    shard: Annotated[
        str | None, typer.Option(metavar="I/N", help="Run part I of N; join the parts with merge.")
    ] = None,
    cluster: Cluster = None,
    out: Root = None,
    name: Name = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Examine every agent on every task, in a new run folder.

    The run may be stopped or killed at any moment; `proctor resume RUN` goes on where it was.
    """
    from proctor.config import load_config
    from proctor.plan.plan import Shard
    from proctor.runs.start import start

    if (config is None) == (config_option is None):
        raise InputError("name one config file: proctor run CONFIG")
    file = config or config_option or ""
    cfg = load_config(file, with_cluster(sets, cluster)).model_copy(update=changes_of(out, name))
    cfg = confirmed(cfg)
    part = None if shard is None else Shard.parse(shard)
    follow(lambda hooks: start(cfg, hooks, part, config=file), as_json=as_json, quiet=quiet)


KEY = "evaluation"
"""The option of a task that names such code: `file`, `sha256` and `trust`."""


def confirmed(cfg: EvalConfig) -> EvalConfig:
    """The config with `trust: true` for the code that the user has said yes to. Nobody is asked where the input is no
    terminal; the run then refuses what is not trusted."""
    if not sys.stdin.isatty():
        return cfg
    files = {code["sha256"]: code["file"] for code in map(_untrusted, cfg.tasks) if code is not None}
    accepted = {sha256 for sha256, file in files.items() if _ask(file, sha256)}
    return cfg.model_copy(update={"tasks": tuple(_trusting(task, accepted) for task in cfg.tasks)})


def _untrusted(task: TaskCfg) -> dict[str, Any] | None:
    code = task.options.get(KEY)
    return code if isinstance(code, dict) and code.get("trust") is False and code.get("sha256") else None


def _trusting(task: TaskCfg, accepted: set[str]) -> TaskCfg:
    code = _untrusted(task)
    if code is None or code["sha256"] not in accepted:
        return task
    return task.model_copy(update={"options": {**task.options, KEY: {**code, "trust": True}}})


def _ask(file: str, sha256: str) -> bool:
    typer.echo(f"{Path(file).read_text(errors='replace').rstrip()}\n\n{file}\nsha256 {sha256}", err=True)
    return typer.confirm("This code would run on this machine with your rights. Run it?", err=True)
