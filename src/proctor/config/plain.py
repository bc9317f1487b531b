"""Plain data: what YAML and JSON can both say. Everything that enters a config passes here first."""

from __future__ import annotations

import math
import numbers
import os
from collections.abc import Mapping
from typing import Any

from proctor.config.problems import Path, Problems

MAX_DEPTH = 50
"""How deep values nest; a config of ours has six levels."""
MAX_BITS = 256
"""Of an integer; what a key itself takes is narrower."""
_MAX_VALUES = 1_000_000


def plain(value: Any, path: Path, problems: Problems) -> Any:
    """A deep copy made of dict, list, str, int, float, bool and None. Tuples become lists, paths text, numpy
    scalars numbers. NaN, infinity, huge integers, text that is no Unicode or has a NUL, keys that are no text, values
    that nest too deep (or contain themselves) and any other object are problems."""
    return _Copy(problems, len(path)).of(value, path)


class _Copy:
    def __init__(self, problems: Problems, depth: int):
        self._problems, self._deepest, self._count = problems, depth + MAX_DEPTH, 0
        self._too_deep: set[Path] = set()

    def of(self, value: Any, path: Path) -> Any:
        self._count += 1
        if isinstance(value, (Mapping, list, tuple)):
            if self._count > _MAX_VALUES:
                return self._refuse((), f"found more than {_MAX_VALUES:,} values; expected fewer")
            if path[:2] in self._too_deep:
                return None
            if len(path) >= self._deepest:
                self._too_deep.add(path[:2])
                return self._refuse(path[:2], f"values nest more than {MAX_DEPTH} deep; expected fewer levels")
            if isinstance(value, Mapping):
                return {(key := self._key(k, path)): self.of(v, (*path, key)) for k, v in value.items()}
            return [self.of(item, (*path, i)) for i, item in enumerate(value)]
        return self._single(value, path)

    def _single(self, value: Any, path: Path) -> Any:
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, os.PathLike):
            value = os.fspath(value)
        if isinstance(value, str):
            return self._text(value, path)
        if isinstance(value, numbers.Integral):
            return self._integer(int(value), path)
        if isinstance(value, numbers.Real):
            return self._finite(float(value), path)
        expected = "a plain value (text, number, true/false, list, mapping)"
        return self._refuse(path, f"found a {type(value).__name__}; expected {expected}")

    def _text(self, value: str, path: Path) -> str:
        if value.isascii() and "\0" not in value:
            return value
        try:
            value.encode()
        except UnicodeEncodeError:
            return self._refuse(path, f"found {ascii(value)[:80]}; expected text of whole characters", "")
        if "\0" in value:
            return self._refuse(path, f"found {ascii(value)[:80]}; expected text without the character NUL", "")
        return value

    def _integer(self, value: int, path: Path) -> int:
        if value.bit_length() <= MAX_BITS:
            return value
        return self._refuse(path, f"found an integer of {value.bit_length():,} bits; expected at most {MAX_BITS}", 0)

    def _finite(self, value: float, path: Path) -> float:
        if math.isfinite(value):
            return value
        found = "NaN" if math.isnan(value) else value
        return self._refuse(path, f"found {found}; expected a finite number", 0.0)

    def _key(self, key: Any, path: Path) -> str:
        if not isinstance(key, str):
            message = f"found a key that is no text ({type(key).__name__}); quote it"
            self._problems.add((*path, ascii(key)[:80]), message)
        return self._text(str(key), path) if isinstance(key, str) else ascii(key)[:80]

    def _refuse(self, path: Path, message: str, stand_in: Any = None) -> Any:
        self._problems.add_unusable(path, message)
        return stand_in
