"""What of an observation is sent to a policy server, and under which keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from proctor.errors import InputError
from proctor.network import fields
from proctor.network.presets import preset_named
from proctor.network.vla_eval import DESCRIPTION
from proctor.network.wire import WireError
from proctor.policies.protocol import SpaceInfo
from proctor.registry import did_you_mean
from proctor.spaces import EntryPath, entries_of
from proctor.texts import bytes_to_text

INSTRUCTION = "instruction"
"""The entry of an observation that says what to do, as manipulation suites have it."""
Entries = dict[str, tuple[EntryPath, Any]]


@dataclass(frozen=True)
class Wire:
    """How one task's observations are sent: key -> where it lies in the observation."""

    paths: dict[str, EntryPath]
    kinds: dict[str, list[Any]]
    """Key -> dtype and shape."""
    texts: frozenset[str]
    """Keys whose bytes are sent as text."""
    extra: dict[str, Any]
    """What is sent beside them, the same for every step."""

    def row(self, observation: Any, row: int) -> dict[str, Any]:
        """One row of a batch as it is sent. Raises WireError where a text is none."""
        sent: dict[str, Any]
        if isinstance(observation, list):
            sent = {key: fields.entry(observation[row], path) for key, path in self.paths.items()}
        else:
            sent = {key: np.asarray(fields.entry(observation, path)[row]) for key, path in self.paths.items()}
        for key in self.texts:
            try:
                sent[key] = bytes_to_text(sent[key])
            except InputError as problem:
                raise WireError(f'cannot be sent: its "{key}" is no text; {problem}') from None
        return sent | self.extra


def wire_of(task: str, spaces: SpaceInfo, options: Any, where: str) -> Wire:
    """How a task's observations are sent with these options of `remote`. Raises InputError, with `where`, for an entry
    that there is not, or that cannot be sent."""
    known = _entries(spaces.observation[task], where)
    wanted, words = _wanted(options, known), _words_key(options)
    spoken = {} if words is None else _spoken(words, task, spaces, options, wanted)
    if options.protocol == "openpi" and words is not None and words not in {**spoken, **wanted}:
        example = f'options.instructions: {{"{task}": "..."}}'
        raise InputError(f"{where} says no instruction to send; write one: {example}")
    told = {**options.extra, **spoken}
    for key, name in wanted.items():
        if name not in known:
            raise InputError(
                f'{where}: keys.{key} is "{name}", which the observation does not have'
                + did_you_mean(name, known)
                + f" (it has {', '.join(known)})"
            )
    chosen = {key: known[name] for key, name in wanted.items()}
    if options.protocol == "vla_eval":
        _check_nesting([*chosen, *told], where)
    texts = frozenset(key for key, name in wanted.items() if name in _texts(options, known, where))
    kinds = {key: [fields.TEXT, []] if key in texts else fields.kind_of(entry) for key, (_, entry) in chosen.items()}
    if isinstance(options.keys, str):
        kinds |= {key: [fields.TEXT, []] for key in spoken}
    return Wire({key: path for key, (path, _) in chosen.items()}, kinds, texts, told)


def nested(flat: Mapping[str, Any]) -> dict[str, Any]:
    """`{"images/front": x}` as `{"images": {"front": x}}`."""
    found: dict[str, Any] = {}
    for key, value in flat.items():
        *groups, name = key.split("/")
        into = found
        for group in groups:
            into = into.setdefault(group, {})
        into[name] = value
    return found


def _named_by_openpi(known: Entries) -> dict[str, str]:
    return {fields.key_of(path): name for name, (path, _) in known.items()}


def _named_by_vla_eval(known: Entries) -> dict[str, str]:
    """As its own benchmarks name things: images by camera in `images`; an observation that is one array is the
    `state`."""
    keys = {"/".join(map(str, path)) or "state": name for name, (path, _) in known.items()}
    keys = {key: name for key, name in keys.items() if key != INSTRUCTION}
    return {f"images/{key[6:]}" if key.startswith("image/") else key: name for key, name in keys.items()}


def _wanted(options: Any, known: Entries) -> dict[str, str]:
    """Key -> entry, the instruction aside where a preset or vla-eval's protocol has a key for it."""
    if isinstance(options.keys, str):
        return dict(preset_named(options.keys).arrays)
    if options.keys is not None:
        return dict(options.keys)
    return _named_by_vla_eval(known) if options.protocol == "vla_eval" else _named_by_openpi(known)


def _words_key(options: Any) -> str | None:
    """Under which key the instruction is sent; None: it is not."""
    if isinstance(options.keys, str):
        return next(iter(preset_named(options.keys).texts), None)
    return options.instruction_key or (DESCRIPTION if options.protocol == "vla_eval" else None)


def _spoken(key: str, task: str, spaces: SpaceInfo, options: Any, wanted: dict[str, str]) -> dict[str, str]:
    """What is sent as the instruction, the same for every step. With a preset or vla-eval's protocol, where the
    observation has it, it is added to what is `wanted` instead. The options come first, then the observation, then what
    the task says of itself."""
    if options.protocol == "vla_eval" or isinstance(options.keys, str):
        if key in wanted:
            return {}
        if task not in options.instructions and (INSTRUCTION,) in dict(entries_of(spaces.observation[task])):
            wanted[key] = INSTRUCTION
            return {}
    told = spaces.instruction(task, options.instructions)
    return {} if told is None else {key: told}


def _texts(options: Any, known: Entries, where: str) -> frozenset[str]:
    """Entries that are sent as text. Raises InputError for one that is not of bytes."""
    from gymnasium import spaces

    given = options.texts
    if given is None:
        named = options.protocol == "vla_eval" or isinstance(options.keys, str)
        given = (INSTRUCTION,) if named and INSTRUCTION in known else ()
    for name in given:
        entry = known[name][1] if name in known else None
        if isinstance(entry, spaces.Text):
            continue
        if entry is None or entry.dtype != np.uint8 or len(entry.shape or ()) != 1:
            found = "which the observation does not have" if entry is None else f"which is {entry}"
            raise InputError(f'{where}: texts has "{name}", {found}; expected entries of uint8 (length,)')
    return frozenset(name for name in given if not isinstance(known[name][1], spaces.Text))


def _check_nesting(keys: list[str], where: str) -> None:
    for key in keys:
        inside = [other for other in keys if other.startswith(key + "/")]
        if inside:
            raise InputError(f'{where}: found the keys "{key}" and "{inside[0]}"; one cannot lie in the other')
        if not all(key.split("/")):
            raise InputError(f'{where}: found the key "{key}"; expected names with single slashes between them')


def _entries(space: Any, where: str) -> Entries:
    """Path and space of every entry by its dotted name."""
    known: Entries = {}
    for path, entry in entries_of(space):
        if not fields.sendable(entry):
            raise InputError(f"{where}: an observation of {entry} cannot be sent; expected arrays or text")
        known[".".join(map(str, path)) or fields.OBSERVATION] = (path, entry)
    return known
