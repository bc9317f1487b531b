"""`report` of a config against the registered sections and formats."""

from __future__ import annotations

from proctor.config.models import EvalConfig
from proctor.config.problems import Problems, did_you_mean
from proctor.registry import FORMATS, SECTIONS


def check_report(config: EvalConfig, problems: Problems) -> None:
    """Add a problem for every section and format that nobody brings."""
    for key, registry in (("sections", SECTIONS), ("formats", FORMATS)):
        known = registry.names()
        for position, name in enumerate(getattr(config.report, key) or ()):
            if name not in known:
                message = f'no {registry.kind} is named "{name}"; expected some of {", ".join(known)}'
                problems.add(("report", key, position), message, did_you_mean(name, known))
