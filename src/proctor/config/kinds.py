"""Entries of a config that name a registered part by its `kind`, with options for it: worker backends, run loggers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from proctor.config.paths import Context, import_string, resolve_options
from proctor.config.problems import Path, did_you_mean
from proctor.config.validate import validate
from proctor.errors import InputError

if TYPE_CHECKING:
    from proctor.registry import Registry


def resolve_kind(entry: Any, where: Path, registry: Registry[Any], context: Context) -> Any:
    """The entry with its kind known and its options checked against those of the part, complete. What is wrong is added
    to the context's problems."""
    kind, options = (entry.get("kind"), entry.get("options", {})) if isinstance(entry, dict) else (None, None)
    if not isinstance(kind, str) or not isinstance(options, dict):
        return entry
    here = (*where, "kind")
    kind = import_string(kind, here, context)
    if ":" not in kind and kind not in registry:
        names, word = ", ".join(registry.names()), registry.kind
        expected = f"expected one of {names}, or an import string such as my_parts.py:MyPart"
        context.problems.add(here, f'unknown {word} "{kind}"; {expected}', did_you_mean(kind, registry.names()))
        return entry
    try:
        model = registry.find(kind, context.base).Options
    except InputError as error:
        context.problems.add(here, str(error))
        return entry
    here = (*where, "options")
    checked = validate(model, resolve_options(options, here, context), here, context.problems)
    return {**entry, "kind": kind} | ({} if checked is None else {"options": checked.model_dump(mode="json")})
