"""Code of the user's that a run would execute: shown with its hash, and asked about where somebody can answer."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from proctor.config.models import EvalConfig, TaskCfg

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
