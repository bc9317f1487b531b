"""Observations of vla-eval's, which are open dicts, as flat dicts with fixed entries.

- `images: {NAME: array}` becomes `image/NAME`, the array as it is; other nested dicts become `KEY/NAME`;
- `task_description` becomes `instruction`, and like every text uint8 (length,), UTF-8 with zeros behind;
- arrays stay as they are, numbers become arrays without axes, a truth value becomes uint8 0 or 1.

Which entries there are, with their shapes, the first observation of a benchmark says.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from proctor.errors import InputError
from proctor.texts import text_to_bytes
from proctor_host import spaces

IMAGES, IMAGE = "images", "image/"
DESCRIPTION, INSTRUCTION = "task_description", "instruction"
TEXT, FLAG, ARRAY = "text", "flag", "array"


class Reader:
    """Reads observations as the first one of their benchmark was. `options` as in VlaEvalOptions."""

    def __init__(self, options: Any, first: Mapping[str, Any]):
        self._text_bytes, self._missing = options.text_bytes, options.missing
        self._left_out, self._flags = frozenset(options.leave_out), frozenset(options.flags)
        self._kinds: dict[str, str] = {}
        found: dict[str, np.ndarray] = {}
        for name, value in self._flat(first):
            self._kinds[name] = _kind(name, value)
            found[name] = self._value(name, value)
        for name in options.flags:
            self._kinds[name] = FLAG
            found.setdefault(name, np.zeros((), np.uint8))
        if not found:
            raise InputError("the benchmark's first observation has no entries")
        self._last = found
        parts = OrderedDict((name, _space(self._kinds[name], value)) for name, value in found.items())
        self.space = spaces.Dict(parts)

    def read(self, observation: Mapping[str, Any], ended: bool) -> dict[str, np.ndarray]:
        """The entries of an observation. At an end an entry may be missing, which then is as it was last. Raises
        ValueError where something is missing before, or of another shape."""
        given = dict(self._flat(observation))
        found: dict[str, np.ndarray] = {}
        for name, before in self._last.items():
            if name in given:
                found[name] = self._fitting(name, self._value(name, given[name]), before)
            elif self._kinds[name] == FLAG:
                found[name] = np.zeros((), np.uint8)
            elif ended or self._missing == "last":
                found[name] = before
            else:
                raise ValueError(
                    f'the observation has no "{name}", which the first one had; if that is meant, the task can say '
                    "missing: last"
                )
        self._last = found
        return found

    def images(self) -> dict[str, np.ndarray]:
        """The images of the last observation, without their prefix."""
        return {name[len(IMAGE) :]: value for name, value in self._last.items() if name.startswith(IMAGE)}

    def _flat(self, observation: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        for key, value in observation.items():
            if key in self._left_out:
                continue
            if not isinstance(value, Mapping):
                yield (INSTRUCTION if key == DESCRIPTION else key), value
                continue
            prefix = IMAGE if key == IMAGES else key + "/"
            for inner, part in value.items():
                if prefix + inner not in self._left_out:
                    yield prefix + inner, part

    def _value(self, name: str, value: Any) -> np.ndarray:
        if isinstance(value, str):
            return text_to_bytes(value, self._text_bytes)
        if isinstance(value, (bool, np.bool_)):
            return np.asarray(value, np.uint8)
        return np.asarray(value)

    def _fitting(self, name: str, value: np.ndarray, before: np.ndarray) -> np.ndarray:
        if value.shape != before.shape or not np.can_cast(value.dtype, before.dtype, "same_kind"):
            found, expected = f"{value.dtype} {value.shape}", f"{before.dtype} {before.shape}"
            raise ValueError(f'the observation "{name}" is {found}; in the first observation it was {expected}')
        return value.astype(before.dtype, copy=False)


def _kind(name: str, value: Any) -> str:
    if isinstance(value, str):
        return TEXT
    if isinstance(value, (bool, np.bool_)):
        return FLAG
    found = None if isinstance(value, (Mapping, bytes)) or value is None else _as_array(value)
    if found is None or found.dtype.kind not in "iuf":
        what = type(value).__name__ if found is None else f"{type(value).__name__} of {found.dtype}"
        raise InputError(
            f'the observation "{name}" is a {what}; expected arrays, numbers or text. Leave it out: leave_out: [{name}]'
        )
    return ARRAY


def _as_array(value: Any) -> Any:
    """None for lists of lists of unequal length."""
    try:
        return np.asarray(value)
    except ValueError:
        return None


def _space(kind: str, value: np.ndarray) -> Any:
    if kind == FLAG:
        return spaces.Box(0, 1, value.shape, np.uint8)
    if value.dtype.kind == "f":
        return spaces.Box(-np.inf, np.inf, value.shape, value.dtype.type)
    limits = np.iinfo(value.dtype)
    return spaces.Box(limits.min, limits.max, value.shape, value.dtype.type)


def names_of(images: Sequence[str]) -> str:
    """Names of images for people."""
    return ", ".join(images) or "none"
