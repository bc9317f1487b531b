"""`proctor doctor`: what is installed, what each part needs, whether rendering works on this machine."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Annotated

import typer


@dataclass(frozen=True)
class Check:
    """One finding. `fix` is the exact command that would mend it, where there is one."""

    name: str
    ok: bool
    detail: str
    fix: str | None = None
    fault: str = "missing"
    """The word for a finding that is not ok."""


Sections = dict[str, list[Check]]


def doctor_command(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
) -> None:
    """Say what is installed, what is missing, and what renders."""
    sections = examine()
    typer.echo(as_json_text(sections) if as_json else as_text(sections))


def examine() -> Sections:
    """All checks by section. Nothing raises: what does not work is a finding."""
    from proctor.cli import probes

    return {
        "machine": probes.machine(),
        "packages": probes.packages(),
        "suites": probes.suites(),
        "policies": probes.policies(),
        "plug-ins": probes.plugins(),
        "rendering": probes.rendering(),
    }


def as_json_text(sections: Sections) -> str:
    """The findings for machines."""
    return json.dumps({title: [asdict(check) for check in checks] for title, checks in sections.items()}, indent=2)


def as_text(sections: Sections) -> str:
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
