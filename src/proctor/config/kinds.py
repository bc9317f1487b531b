"""Entries of a config that name a registered part, and the check that somebody brings it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from proctor.config.paths import Context, import_string, resolve_options
from proctor.config.problems import Path, did_you_mean
from proctor.config.validate import validate
from proctor.errors import InputError

if TYPE_CHECKING:
    from proctor.registry import Registry


def part_name(name: str, where: Path, registry: Registry[Any], example: str, context: Context) -> str | None:
    """A part's name, or an import string such as `example` with its file made absolute; None, with a problem noted at
    `where`, for a part that nobody brings."""
    if ":" in name:
        return import_string(name, where, context)
    if name in registry:
        return name
    expected = f"expected one of {', '.join(registry.names())}, or an import string such as {example}"
    hint = did_you_mean(name, registry.names())
    context.problems.add(where, f'unknown {registry.kind} "{name}"; {expected}', hint)
    return None


def check_name(name: str, where: Path, context: Context, forbidden: str = "") -> None:
    """Note a problem with the name of an agent or a task that could not be shown or told from another."""
    if any(character in name for character in forbidden) or not name.isprintable() or name != name.strip():
        without = "".join(f'"{character}", ' for character in forbidden)
        message = f"found {name!r}; expected a name without {without}control characters or blanks at its ends"
        context.problems.add((*where, "name"), message)


def resolve_kind(entry: Any, where: Path, registry: Registry[Any], context: Context) -> Any:
    """An entry with a `kind` (worker backend, run logger), its options checked against those of the part and complete.
    What is wrong is added to the context's problems."""
    given, options = (entry.get("kind"), entry.get("options", {})) if isinstance(entry, dict) else (None, None)
    if not isinstance(given, str) or not isinstance(options, dict):
        return entry
    here = (*where, "kind")
    kind = part_name(given, here, registry, "my_parts.py:MyPart", context)
    if kind is None:
        return entry
    try:
        model = registry.find(kind, context.base).Options
    except InputError as error:
        context.problems.add(here, str(error))
        return entry
    here = (*where, "options")
    checked = validate(model, resolve_options(options, here, context), here, context.problems)
    return {**entry, "kind": kind} | ({} if checked is None else {"options": checked.model_dump(mode="json")})
