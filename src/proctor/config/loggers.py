"""Run loggers, written out: names checked, options complete."""

from __future__ import annotations

from typing import Any

from proctor.config.paths import Context, import_string, resolve_options
from proctor.config.problems import Path, did_you_mean
from proctor.config.validate import validate
from proctor.errors import InputError


def resolve_loggers(entries: list[Any], context: Context) -> list[Any]:
    """The entries of `loggers`, each with its options checked against the logger's own. What is wrong is added to the
    context's problems."""
    return [_resolved(entry, ("loggers", i), context) for i, entry in enumerate(entries)]


def _resolved(entry: Any, where: Path, context: Context) -> Any:
    from proctor.registry import LOGGERS

    kind, options = (entry.get("kind"), entry.get("options", {})) if isinstance(entry, dict) else (None, None)
    if not isinstance(kind, str) or not isinstance(options, dict):
        return entry
    kind = import_string(kind, (*where, "kind"), context)
    if ":" not in kind and kind not in LOGGERS:
        expected = f"expected one of {', '.join(LOGGERS.names())}, or an import string such as my_loggers.py:MyLogger"
        hint = did_you_mean(kind, LOGGERS.names())
        context.problems.add((*where, "kind"), f'unknown logger "{kind}"; {expected}', hint)
        return entry
    try:
        model = LOGGERS.find(kind, context.base).Options
    except InputError as error:
        context.problems.add((*where, "kind"), str(error))
        return entry
    here = (*where, "options")
    checked = validate(model, resolve_options(options, here, context), here, context.problems)
    return {**entry, "kind": kind} | ({} if checked is None else {"options": checked.model_dump(mode="json")})
