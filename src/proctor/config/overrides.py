"""`--set key=value`: change single values of a config.

The key is a dotted path; in a list, a position (`agents.0.device`), an entry's name (`agents.ppo.device`,
`tasks.CartPole-v1.n_trials`) or `*` for all. An entry without a name has the one that it would get. A part in quotes is
taken as it is: `agents."ppo=v1.5".device`, `agents."0".device`. The value is YAML: `n_trials=50`,
`record.observations=true`, `tasks.0.options.kwargs={gravity: 9.0}`.

The names that entries would get are known before anything of the config is checked. Code of the user's is not imported
for this: a task of a suite that is named by an import string has no name here unless it gives one.
"""

from __future__ import annotations

import copy
import glob
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from proctor.config.forms import expand_shorthands
from proctor.config.plain import plain
from proctor.config.problems import Path, Problems, did_you_mean, shown
from proctor.config.yaml_source import parse_value
from proctor.errors import InputError
from proctor.registry import SUITES


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
        parts, value_text = _split(text)
        if value_text is None:
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
            if path[-1] == "seeds" and value is not None:
                _drop_counts(data, path[:-1], problems)
    return data


def _drop_counts(data: Any, owner: Path, problems: Problems) -> None:
    """Seeds that are set take the place of what said before how many there are and with what they begin, unless that is
    set, too."""
    for part in owner:
        data = data[part]
    for key in ("n_trials", "base_seed"):
        if (*owner, key) not in problems.overridden:
            data.pop(key, None)


class Quoted(str):
    """A part of a key that was written in quotes: a name, whatever it looks like."""


_PART = re.compile(r"""\s*(?:"(?P<double>[^"]+)"|'(?P<single>[^']+)'|(?P<plain>[^.=\s"'][^.=]*?))\s*(?P<end>[.=])""")


def _split(text: str) -> tuple[list[str], str | None]:
    """The parts of the key, and the text of the value; None for what is no key=value."""
    parts: list[str] = []
    at = 0
    while match := _PART.match(text, at):
        quoted = match["double"] or match["single"]
        parts.append(Quoted(quoted) if quoted else match["plain"])
        at = match.end()
        if match["end"] == "=":
            return parts, text[at:]
    return parts, None


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
    quoted = isinstance(parts[0], Quoted)
    if parts[0] == "*" and not quoted:
        yield from ((i, 1) for i in range(len(entries)))
        return
    if parts[0].isdigit() and int(parts[0]) < len(entries) and not quoted:
        yield int(parts[0]), 1
        return
    for names in (_given_names(entries), names_to_be(entries)):
        for used in range(1 if quoted else len(parts), 0, -1):
            name = ".".join(parts[:used])
            if name in names:
                yield names.index(name), used
                return
    known = [name for name in names_to_be(entries) if name is not None]
    listed = f" or one of {', '.join(known)}" if known else ""
    expected = f"expected a position from 0 to {len(entries) - 1}{listed}" if entries else "the list is empty"
    problems.add_override(text, f'no entry "{parts[0]}"; {expected}', did_you_mean(parts[0], known))


def _given_names(entries: list[Any]) -> list[Any]:
    return [entry.get("name") if isinstance(entry, dict) else entry for entry in entries]


def _assign(data: Any, path: Path, value: Any) -> None:
    for part in path[:-1]:
        if (data.get(part) if isinstance(data, dict) else data[part]) is None:
            data[part] = {}
        data = data[part]
    data[path[-1]] = value


def names_to_be(entries: list[Any]) -> list[str | None]:
    """The name of each agent or task of a list; None where it has none, or stands for several. Names that repeat get
    the numbers that they will have."""
    taken = {entry["name"] for entry in entries if isinstance(entry, dict) and isinstance(entry.get("name"), str)}
    found: list[str | None] = []
    for entry in entries:
        if not isinstance(entry, dict):
            found.append(entry if isinstance(entry, str) else None)
        elif isinstance(entry.get("name"), str):
            found.append(entry["name"])
        elif "suite" in entry:
            name = _task_name(entry)
            found.append(None if name is None else unique(name, taken))
            taken.add(found[-1])
        else:
            found.append(_agent_name(entry))
    return found


def unique(name: str, taken: set[Any]) -> str:
    """The name, with -2, -3, ... where it is taken."""
    free, number = name, 1
    while free in taken:
        number += 1
        free = f"{name}-{number}"
    return free


def stem_of(policy: str) -> str:
    """The name of an agent without a checkpoint: its loader's or class's."""
    return policy.rpartition(":")[2].rpartition(".")[2]


def _agent_name(entry: dict[str, Any]) -> str | None:
    checkpoint, policy = entry.get("checkpoint"), entry.get("policy")
    if isinstance(checkpoint, str) and "://" not in checkpoint:
        return None if glob.has_magic(checkpoint) else os.path.splitext(os.path.basename(checkpoint))[0]
    return stem_of(policy) if isinstance(policy, str) else None


def _task_name(entry: dict[str, Any]) -> str | None:
    from proctor.suites import find_suite

    options = entry.get("options", {})
    if entry["suite"] not in SUITES or not isinstance(options, dict):
        return None
    try:
        suite = find_suite(entry["suite"])
        several = suite.expand(options)
        return suite.task_name(suite.Options.model_validate(several[0])) if len(several) == 1 else None
    except (InputError, ValueError, TypeError):
        return None
