"""`proctor doctor`: what is installed, what each part needs, whether rendering works on this machine."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Annotated

import typer

from proctor.cli.options import JsonAnswer


@dataclass(frozen=True)
class Check:
    """One finding. `fix` is the exact command that would mend it, where there is one."""

    name: str
    ok: bool
    detail: str
    fix: str | None = None
    fault: str = "missing"
    """The word for a finding that is not ok."""


def doctor_command(
    cluster: Annotated[
        str | None,
        typer.Option("--cluster", metavar="ADDRESS", help="Ask each node of a Ray cluster: auto, local or HOST:PORT."),
    ] = None,
    as_json: JsonAnswer = False,
) -> None:
    """Say what is installed, what is missing, and what renders."""
    if cluster is None:
        from proctor.cli.probes import SECTIONS

        sections = {title: probe() for title, probe in SECTIONS.items()}
    else:
        from proctor.cli.cluster import cluster as asked

        sections = dict(asked(cluster))
    plain = {title: [asdict(check) for check in checks] for title, checks in sections.items()}
    typer.echo(json.dumps(plain, indent=2) if as_json else as_text(sections))


def as_text(sections: dict[str, list[Check]]) -> str:
    """The findings as lines, each missing thing followed by the command that mends it."""
    lines: list[str] = []
    for title, checks in sections.items():
        width = max((len(check.name) for check in checks), default=0)
        lines += ["", title.capitalize()] if lines else [title.capitalize()]
        lines += [] if checks else ["  none"]
        for check in checks:
            mark = ("ok" if check.ok else check.fault).ljust(7)
            lines.append(f"  {mark}  {check.name.ljust(width)}  {check.detail}".rstrip())
            if not check.ok and check.fix:
                lines.append(f"           {' ' * width}  {check.fix}")
    return "\n".join(lines)
