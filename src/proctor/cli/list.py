"""`proctor list`: what can be named in a config."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer


def list_command(
    as_json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """List suites, policy loaders, scorings and metrics."""
    parts = inventory()
    typer.echo(json.dumps(parts, indent=2) if as_json else as_text(parts))


def inventory() -> dict[str, list[dict[str, Any]]]:
    """Everything registered, by kind; each entry has a `name` and what tells it apart."""
    from proctor.metrics import describe
    from proctor.registry import LOADERS, SCORINGS, SUITES

    return {
        "suites": [{"name": name, "about": _about(SUITES.load(name))} for name in SUITES.names()],
        "policies": [_policy(name, LOADERS.load(name)) for name in LOADERS.names()],
        "scorings": [{"name": name, "about": _about(SCORINGS.load(name))} for name in SCORINGS.names()],
        "metrics": [_metric(info) for info in describe()],
    }


def _policy(name: str, loader: Any) -> dict[str, Any]:
    return {"name": name, "reads": list(loader.suffixes), "about": _about(loader)}


def _metric(info: Any) -> dict[str, Any]:
    return {"name": info.name, "unit": info.unit, "direction": info.direction, "about": info.doc.rstrip(".")}


def _about(part: Any) -> str:
    """The first sentence of a docstring."""
    text = " ".join((part.__doc__ or "").split())
    return text.partition(". ")[0].rstrip(".")


_TITLES = {
    "suites": "Suites (tasks: suite)",
    "policies": "Policy loaders (agents: policy), or an import string such as my_policies.py:MyPolicy",
    "scorings": "Scorings (scoring: mode), or an import string such as my_scoring.py:score",
    "metrics": "Metrics",
}


def as_text(parts: dict[str, list[dict[str, Any]]]) -> str:
    """The inventory as aligned columns, kind by kind."""
    blocks = []
    for kind, entries in parts.items():
        rows = [[_cell(value) for value in entry.values()] for entry in entries]
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]) - 1)] if rows else []
        lines = [_line(row, widths) for row in rows] or ["  none"]
        blocks.append("\n".join([_TITLES[kind], *lines]))
    return "\n\n".join(blocks)


def _cell(value: Any) -> str:
    return " ".join(value) if isinstance(value, list) else str(value)


def _line(row: list[str], widths: list[int]) -> str:
    padded = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
    return "  " + "  ".join([*padded, row[-1]]).rstrip()
