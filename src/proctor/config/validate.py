"""Pydantic's findings in our words: what was found, what was expected, the nearest valid name.

Values are taken strictly: text is no number, `true` is no 1. Options are checked against the model of the
loader or suite that they are for. Of an entry that names a registered part it is checked that somebody brings it.
"""

from __future__ import annotations

import json
import types
import typing
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ValidationError

from proctor.config.paths import Context, import_string, resolve_options
from proctor.config.problems import Path, Problems, did_you_mean, shown
from proctor.errors import InputError

if TYPE_CHECKING:
    from proctor.registry import Registry


M = TypeVar("M", bound=BaseModel)

_EXPECTED = {
    "string_type": "text",
    "int_type": "an integer",
    "int_from_float": "an integer",
    "int_parsing": "an integer",
    "float_type": "a number",
    "float_parsing": "a number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "finite_number": "a finite number",
    "string_too_short": "text that is not empty",
    "none_required": "null",
}
_BOUNDS = {
    "greater_than_equal": ("ge", "at least"),
    "greater_than": ("gt", "more than"),
    "less_than_equal": ("le", "at most"),
    "less_than": ("lt", "less than"),
}


def validate(model: type[M], data: Mapping[str, Any], path: Path, problems: Problems) -> M | None:
    """The model's instance, or None with every reason added to `problems`. `path` is where `data` stands in
    the config. `data` must be plain (see `proctor.config.plain`)."""
    try:
        return model.model_validate_json(json.dumps(data), strict=True)
    except ValidationError as error:
        found = error.errors(include_url=False)
    if any(e["type"] in ("tuple_type", "set_type") and isinstance(e["input"], list) for e in found):
        try:  # strictness cannot tell a JSON list from a tuple behind a before-validator
            return model.model_validate(data)
        except ValidationError as error:
            found = error.errors(include_url=False)
    _add_errors(model, data, found, (path, problems))
    return None


class Explained(BaseModel):
    """A model that is made from Python: what is wrong with its keywords is a ConfigError, in the words of a config."""

    if not TYPE_CHECKING:  # a type checker shall see the fields

        def __init__(self, **keys: Any):
            try:
                super().__init__(**keys)
            except ValidationError as error:
                problems = Problems(type(self).__name__)
                _add_errors(type(self), keys, error.errors(include_url=False), ((), problems))
                problems.raise_any()


def _add_errors(model: type[BaseModel], data: Any, errors: Sequence[Any], where: tuple[Path, Problems]) -> None:
    path, problems = where
    merged: dict[Path, tuple[list[str], Any, str | None]] = {}
    for error in errors:
        if error["type"] == "too_short" and len(error["input"]) >= error["ctx"]["min_length"]:
            continue  # pydantic counts the entries that were left; each lost one has its own error
        place = _place_in(data, error["loc"])
        if error["type"] == "extra_forbidden":
            _add_unknown_key(model, place, where)
            continue
        expected, hint = _expected(error)
        texts, _, _ = merged.setdefault(place, ([], error, hint))
        texts.append(expected)
    for place, (texts, error, hint) in merged.items():
        expected = " or ".join(dict.fromkeys(texts))
        problems.add((*path, *place), _message(error, expected), hint)


def _message(error: Any, expected: str) -> str:
    if error["type"] == "missing":
        return "missing; expected a value for this key"
    if error["type"] in ("value_error", "assertion_error"):
        return expected
    return f"found {shown(error['input'])}; expected {expected}"


def _expected(error: Any) -> tuple[str, str | None]:
    """What was expected instead, and a hint."""
    kind, context = error["type"], error.get("ctx", {})
    if kind in _BOUNDS:
        name, words = _BOUNDS[kind]
        bound = context[name]
        return f"{words} {int(bound) if bound == int(bound) else bound:,}", None
    if kind == "too_short":
        count = context["min_length"]
        return f"at least {count} {'entry' if count == 1 else 'entries'}", None
    if kind == "too_long":
        return f"at most {context['max_length']} entries", None
    if kind == "literal_error":
        names = [word.strip("'\"") for word in context["expected"].replace(" or ", ", ").split(", ")]
        return f"one of {', '.join(names)}", did_you_mean(str(error["input"]), names)
    if kind == "value_error":
        return error["msg"].removeprefix("Value error, "), None
    message: str = error["msg"]
    return _EXPECTED.get(kind) or message[:1].lower() + message[1:], None


def _add_unknown_key(model: type[BaseModel], place: Path, where: tuple[Path, Problems]) -> None:
    path, problems = where
    owner = model_at(model, place[:-1])
    known = sorted(owner.model_fields) if owner else []
    expected = f"; expected one of {', '.join(known)}" if known else ""
    problems.add((*path, *place), f"unknown key{expected}", did_you_mean(str(place[-1]), known))


def _place_in(data: Any, loc: Sequence[str | int]) -> Path:
    """Pydantic's location without the names of union members, which are no keys of the data."""
    place: list[str | int] = []
    for i, part in enumerate(loc):
        if isinstance(data, dict) and part in data:
            data = data[part]
        elif isinstance(data, list) and isinstance(part, int):
            data = data[part] if part < len(data) else None
        elif not (isinstance(data, dict) and i == len(loc) - 1):
            continue
        place.append(part)
    return tuple(place)


def model_at(model: type[BaseModel], path: Path) -> type[BaseModel] | None:
    """The model class that describes the value at `path`; None where no model does (free-form values)."""
    annotation: Any = model
    for part in path:
        owner = _first_model(annotation)
        if isinstance(part, int):
            annotation = next((a for a in _members(annotation) if typing.get_args(a)), None)
            annotation = typing.get_args(annotation)[0] if annotation is not None else None
        elif owner is not None and part in owner.model_fields:
            annotation = owner.model_fields[part].annotation
        else:
            return None
    return _first_model(annotation)


def _members(annotation: Any) -> tuple[Any, ...]:
    origin = typing.get_origin(annotation)
    if origin in (typing.Union, types.UnionType):
        return typing.get_args(annotation)
    return (annotation,)


def _first_model(annotation: Any) -> type[BaseModel] | None:
    return next((a for a in _members(annotation) if isinstance(a, type) and issubclass(a, BaseModel)), None)


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
