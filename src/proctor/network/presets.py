"""What well-known programs call the entries of an observation, by name, in the place of a table of keys.

A preset is data. `remote` sends observations under its keys, `proctor serve` reads requests that have them. Keys of
`texts` carry text, of an entry that holds it as bytes (`proctor.texts`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from proctor.errors import InputError
from proctor.network import fields
from proctor.registry import did_you_mean
from proctor.spaces import EntryPath
from proctor.texts import text_to_bytes


@dataclass(frozen=True)
class KeyPreset:
    """Key on the wire -> entry of the observation (nested ones with dots)."""

    arrays: Mapping[str, str]
    texts: Mapping[str, str]
    replan_steps: int | None
    """How many actions of a chunk the program executes before it asks again; None: all."""

    @property
    def keys(self) -> dict[str, str]:
        return {**self.arrays, **self.texts}


PRESETS: dict[str, KeyPreset] = {
    "openpi/libero": KeyPreset(
        arrays={
            "observation/image": "image/agentview",
            "observation/wrist_image": "image/robot0_eye_in_hand",
            "observation/state": "state",
        },
        texts={"prompt": "instruction"},
        replan_steps=5,
    ),
}


def preset_named(name: str) -> KeyPreset:
    """Raises InputError for a name that there is not."""
    if name not in PRESETS:
        raise InputError(f'no key preset "{name}"{did_you_mean(name, PRESETS)} (known: {", ".join(PRESETS)})')
    return PRESETS[name]


@dataclass(frozen=True)
class Naming:
    """What a server's callers call the entries of an observation; by default `observation/NAME`."""

    keys: Mapping[EntryPath, str] = field(default_factory=dict)
    words: str | None = None
    """The key of the text that says what to do; None: there is none."""

    @classmethod
    def of(cls, preset: KeyPreset) -> Naming:
        keys: dict[EntryPath, str] = {tuple(entry.split(".")): key for key, entry in preset.keys.items()}
        return cls(keys, next(iter(preset.texts), None))

    def key(self, path: EntryPath) -> str:
        return self.keys.get(path) or fields.key_of(path)

    def kind(self, path: EntryPath, space: Any) -> list[Any]:
        """What a caller sends for an entry."""
        return [fields.TEXT, []] if self.is_text(path) else fields.kind_of(space)

    def is_text(self, path: EntryPath) -> bool:
        return self.words is not None and self.keys.get(path) == self.words

    def told(self, message: Mapping[Any, Any]) -> str | None:
        """What a request says is to be done; None where it says nothing of the kind."""
        text = None if self.words is None else message.get(self.words)
        return text if isinstance(text, str) else None

    def chosen(self, entries: Iterable[EntryPath], where: str) -> list[EntryPath]:
        """The entries that callers send, in the order of the observation. Raises InputError, with `where`, for one that
        the observation does not have."""
        if not self.keys:
            return list(entries)
        known = list(entries)
        for path, key in self.keys.items():
            if path not in known:
                has = ", ".join(".".join(map(str, entry)) or fields.OBSERVATION for entry in known)
                raise InputError(
                    f'{where}: callers send "{key}", which is the entry "{".".join(map(str, path))}"; the observation '
                    f"has {has}"
                )
        return [path for path in known if path in self.keys]


def as_bytes(text: str, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """A text as the entry of an observation. Raises InputError where it does not fit."""
    if np.dtype(dtype) != np.uint8 or len(shape) != 1:
        raise InputError(f"the observation has {np.dtype(dtype)} {shape} for this text; expected uint8 (length,)")
    return text_to_bytes(text, shape[0])
