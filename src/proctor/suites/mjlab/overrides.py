"""Changes of a config of nested dataclasses and dicts, as data: dotted name -> value."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Mapping
from typing import Any

from proctor.errors import InputError


def apply(config: Any, overrides: Mapping[str, Any]) -> None:
    """Change `config` in place. A name must exist, so that a misspelt one is no change that nobody sees. Null takes an
    entry of a dict away. A list becomes a tuple where there is one, a whole number a float. Raises InputError."""
    for path, value in overrides.items():
        *parents, last = path.split(".")
        found = config
        for depth, name in enumerate(parents):
            found = _get(found, name, ".".join(parents[:depth]), path)
        _set(found, last, value, path)


def _get(found: Any, name: str, where: str, path: str) -> Any:
    if isinstance(found, Mapping) and name in found:
        return found[name]
    if not isinstance(found, Mapping) and name in _names(found):
        return getattr(found, name)
    raise _unknown(found, name, where, path)


def _set(found: Any, name: str, value: Any, path: str) -> None:
    now = _get(found, name, path.rpartition(".")[0], path)
    if isinstance(found, dict) and value is None:
        del found[name]
        return
    value = _like(now, value, path)
    if isinstance(found, dict):
        found[name] = value
    else:
        setattr(found, name, value)


def _like(now: Any, value: Any, path: str) -> Any:
    """`value` as the kind of what it takes the place of. Raises InputError where it cannot be."""
    if isinstance(now, tuple) and isinstance(value, list):
        return tuple(map(_like, now, value, [path] * len(now))) if len(now) == len(value) else tuple(value)
    if isinstance(now, float) and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    same = now is None or value is None or isinstance(value, type(now))
    if not same or (isinstance(value, bool) and not isinstance(now, bool | None)):
        raise InputError(f"overrides.{path}: found {value!r}; expected {_kind(now)}, as {now!r} is")
    return value


def _kind(now: Any) -> str:
    plain = {bool: "true or false", int: "a whole number", float: "a number", str: "text", tuple: "a list"}
    return plain.get(type(now), f"a {type(now).__name__}, which cannot be written here")


def _names(found: Any) -> list[str]:
    if isinstance(found, Mapping):
        return [str(key) for key in found]
    return [field.name for field in dataclasses.fields(found)] if dataclasses.is_dataclass(found) else []


def _unknown(found: Any, name: str, where: str, path: str) -> InputError:
    known = _names(found)
    place = f'"{where}"' if where else "the config"
    if not known:
        return InputError(f'overrides.{path}: {place} has no parts, so there is no "{name}" in it')
    near = difflib.get_close_matches(name, known, 1)
    meant = f'; did you mean "{near[0]}"?' if near else f"; it has {', '.join(sorted(known))}"
    return InputError(f'overrides.{path}: {place} has no "{name}"{meant}')
