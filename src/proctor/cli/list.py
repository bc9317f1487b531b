"""`proctor list`: what can be named in a config, and which package brings it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Annotated, Any

import typer

from proctor.cli.options import JsonAnswer
from proctor.errors import InputError


def list_command(
    kind: Annotated[str | None, typer.Argument(help="Only this kind, such as suites or metrics.")] = None,
    as_json: JsonAnswer = False,
) -> None:
    """List the parts that a config can name, and their origin."""
    parts = inventory(kind)
    typer.echo(json.dumps(parts, indent=2) if as_json else as_text(parts))


def inventory(kind: str | None = None) -> dict[str, list[dict[str, Any]]]:
    """Everything registered, by kind. Each entry has `name`, `origin`, what is particular to the kind, and `about`; a
    name that more than one package claims is there once for each, with the reason for its refusal as `about`."""
    from proctor.registry import KINDS, nearest

    by_kind = {registry.group.partition(".")[2]: registry for registry in KINDS}
    if kind is not None and kind not in by_kind:
        hint = nearest(kind, by_kind)
        raise InputError(
            f'unknown kind "{kind}"' + (f'; did you mean "{hint}"?' if hint else "") + f" (known: {', '.join(by_kind)})"
        )
    return {name: _entries(registry) for name, registry in by_kind.items() if kind in (None, name)}


def _entries(registry: Any) -> list[dict[str, Any]]:
    refused = registry.refused()
    more = _MORE.get(registry.group, lambda part: {})
    found = []
    for part in registry.parts():
        entry = {"name": part.name, "origin": part.origin}
        if part.name in refused:
            found.append({**entry, "about": f"refused: {refused[part.name]}"})
            continue
        try:
            loaded = registry.load(part.name)
        except Exception as error:  # a plug-in's own code: it must not keep the other parts from being listed
            found.append({**entry, "about": f"cannot be loaded: {type(error).__name__}: {error}"})
            continue
        found.append({**entry, **more(loaded), "about": first_sentence(loaded)})
    return found


_MORE: dict[str, Callable[[Any], dict[str, Any]]] = {
    "proctor.loaders": lambda loader: {"reads": list(loader.suffixes)},
    "proctor.metrics": lambda metric: {"unit": metric.unit, "direction": metric.direction},
}
"""What is listed beside name, origin and sentence, by entry point group."""


def first_sentence(part: Any) -> str:
    """What a part says of itself: the first sentence of its docstring."""
    text = " ".join((part.__doc__ or "").split())
    return text.partition(". ")[0].rstrip(".")


_TITLES = {
    "suites": "Suites (tasks: suite)",
    "loaders": "Policy loaders (agents: policy), or an import string such as my_policies.py:MyPolicy",
    "scorings": "Scorings (scoring: mode), or an import string such as my_scoring.py:score",
    "metrics": "Metrics (computed of every episode whose record has what they need)",
    "metric_families": "Families of metrics, whose names come from the record",
    "backends": "Worker backends (workers: kind)",
    "sections": "Report sections",
    "formats": "Report formats",
    "loggers": "Run loggers (loggers: kind), or an import string such as my_loggers.py:MyLogger",
    "forms": "Config forms (other evaluators' files that `proctor run` reads)",
    "runtimes": "Recipes of runtimes (tasks: runtime), which `proctor runtimes install` builds",
}


def as_text(parts: dict[str, list[dict[str, Any]]]) -> str:
    """The inventory as aligned columns, kind by kind."""
    blocks = []
    for kind, entries in parts.items():
        columns = list(dict.fromkeys(key for entry in entries for key in entry if key != "about"))
        rows = [[_cell(entry.get(key, "")) for key in (*columns, "about")] for entry in entries]
        widths = [*(max(len(row[i]) for row in rows) for i in range(len(columns))), 0]
        padded = [[cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in rows]
        lines = ["  " + "  ".join(row).rstrip() for row in padded] or ["  none"]
        blocks.append("\n".join([_TITLES.get(kind, kind.capitalize()), *lines]))
    return "\n\n".join(blocks)


def _cell(value: Any) -> str:
    return " ".join(value) if isinstance(value, list) else str(value)
