"""What a pickle may not do to its reader: take memory without end, or give keys that are slow or unsafe to hash."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from proctor.errors import InputError

_KEY_MAX = 2**60
"""Whole numbers below this have hashes of their own."""
_KEY_LENGTH_MAX = 16


class Forbidden(InputError):
    """The pickle asks for something that is never done for one; the text says what."""


class Budget:
    """How many bytes may still be made of a file."""

    def __init__(self, left: int):
        self._left = left

    def charge(self, count: int) -> None:
        self._left -= count
        if self._left < 0:
            raise Forbidden("it asks for several times more memory than its own size")


def as_text(text: str) -> str:
    """`text`, if it can be written. Raises ValueError for halves of characters."""
    text.encode()
    return text


def as_key(value: Any) -> Any:
    """`value`, if it may be the key of a dict or stand in a set: text, bytes, a number, None, or a short tuple of such.
    A tuple of tuples would be hashed as deep as it goes, which ends the process; a long one anew wherever it is used;
    and huge numbers may share one hash."""
    if isinstance(value, tuple) and len(value) > _KEY_LENGTH_MAX:
        raise TypeError("a long tuple as a key")
    for item in value if isinstance(value, tuple) else (value,):
        if not isinstance(item, str | bytes | int | float | np.generic | None):
            raise TypeError(f"a {type(item).__name__} as a key")
        if isinstance(item, int) and abs(item) > _KEY_MAX:
            raise ValueError("a key that is a huge number")
    return value


def as_dict(pairs: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
    return {as_key(key): value for key, value in pairs}
