"""`--set key=value`: change single values of a config.

The key is a dotted path; in a list, a position (`agents.0.device`), an entry's name (`agents.ppo.device`) or
`*` for all. The value is YAML: `n_trials=50`, `record.observations=true`, `tasks.0.options.kwargs={gravity:
9.0}`.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from proctor.config.plain import plain
from proctor.config.problems import Path, Problems, did_you_mean, shown
from proctor.config.shorthands import expand_shorthands
from proctor.config.yaml_source import parse_value


def apply_overrides(raw: Mapping[str, Any], overrides: Sequence[str]) -> dict[str, Any]:
    """A copy of `raw` with the overrides applied in order. Raises ConfigError for a key that leads nowhere;
    whether the value fits is checked when the config is validated."""
    problems = Problems("config")
    data = override(copy.deepcopy(dict(raw)), overrides, problems)
    problems.raise_any()
    return data


def override(data: dict[str, Any], overrides: Sequence[str], problems: Problems) -> dict[str, Any]:
    """Apply overrides to `data` in place; `problems` learns where the new values came from."""
    for text in overrides:
        key, equals, value_text = text.partition("=")
        parts = key.strip().split(".")
        if not equals or not all(parts):
            problems.add_override(text, "expected key=value with a dotted key, such as agents.0.device=cuda")
            continue
        try:
            value = parse_value(value_text)
        except ValueError as error:
            problems.add_override(text, str(error))
            continue
        expand_shorthands(data)
        for path in list(_targets(data, parts, (), text, problems)):
            problems.overridden[path] = text
            _assign(data, path, plain(value, path, problems))
    return data


def _targets(container: Any, parts: list[str], path: Path, text: str, problems: Problems) -> Iterator[Path]:
    """The paths that dotted `parts` mean in `container`, which stands at `path`."""
    if not parts:
        yield path
    elif isinstance(container, list):
        for index, used in _list_entries(container, parts, text, problems):
            yield from _targets(container[index], parts[used:], (*path, index), text, problems)
    elif isinstance(container, dict) or container is None:
        inner = (container or {}).get(parts[0])
        yield from _targets(inner, parts[1:], (*path, parts[0]), text, problems)
    else:
        problems.add_override(text, f'nothing is under "{".".join(map(str, path))}", which is {shown(container)}')


def _list_entries(entries: list[Any], parts: list[str], text: str, problems: Problems) -> Iterator[tuple[int, int]]:
    """(position, how many parts it took) of the entries meant. A name may contain dots; the longest match
    wins."""
    if parts[0] == "*":
        yield from ((i, 1) for i in range(len(entries)))
        return
    if parts[0].isdigit() and int(parts[0]) < len(entries):
        yield int(parts[0]), 1
        return
    names = [e.get("name") if isinstance(e, dict) else e for e in entries]
    for used in range(len(parts), 0, -1):
        name = ".".join(parts[:used])
        if name in names:
            yield names.index(name), used
            return
    known = [str(name) for name in names if name is not None]
    listed = f" or one of {', '.join(known)}" if known else ""
    expected = f"expected a position from 0 to {len(entries) - 1}{listed}" if entries else "the list is empty"
    problems.add_override(text, f'no entry "{parts[0]}"; {expected}', did_you_mean(parts[0], known))


def _assign(data: Any, path: Path, value: Any) -> None:
    for part in path[:-1]:
        if (data.get(part) if isinstance(data, dict) else data[part]) is None:
            data[part] = {}
        data = data[part]
    data[path[-1]] = value
