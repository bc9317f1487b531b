"""The wire formats of policy servers: msgpack with arrays, in two dialects.

openpi's: an array is a map with the *bytes* keys `__ndarray__`, `data` (C order), `dtype` and `shape`; a numpy scalar
one with `__npgeneric__`, `data` and `dtype`, except float64, which is a Python float and travels as one. Object, void
and complex dtypes are refused both ways. vla-eval's: the same keys as *text*, no scalars but plain numbers, and only
arrays of numbers and truth values; images in it that are compressed are left as the maps they are.

Decoded arrays are read-only views of the frame. Nothing is ever executed, and what is allocated is bounded by the
frame: no length that a frame states is believed before its bytes are there.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from proctor.errors import optional


@dataclass(frozen=True)
class Dialect:
    """The keys of a map that is an array, and what may be in one. `scalar` None: numpy's travel as plain numbers."""

    array: str | bytes
    scalar: str | bytes | None
    data: str | bytes
    dtype: str | bytes
    shape: str | bytes
    refused: str
    """Kinds of dtypes, as numpy writes them."""
    why: str


OPENPI = Dialect(
    b"__ndarray__", b"__npgeneric__", b"data", b"dtype", b"shape", "OVc",
    "object, void and complex arrays are not sent",
)  # fmt: skip
VLA_EVAL = Dialect(
    "__ndarray__", None, "data", "dtype", "shape", "OVcSUmM", "only numbers and truth values are sent in arrays"
)

MOST_ENTRIES = 4096
"""Of one list or map; numbers travel in arrays."""
MOST_VALUES = 1_000_000
"""Entries of all lists and maps of a frame together."""
_DTYPE = re.compile(r"[<>|=]?[A-Za-z?]\d{0,10}(\[\w{1,8}\])?$")
_SCALARS: dict[str, type | tuple[type, ...]] = {
    "b": (bool, int), "i": int, "u": int, "f": (int, float), "S": bytes, "U": str,
}  # fmt: skip
"""Kind of a dtype -> what its scalars travel as."""


class WireError(ValueError):
    """A message that cannot be sent, or a frame that is none. The text says what was found."""


def msgpack() -> Any:
    """The package, or MissingExtra."""
    return optional("msgpack", "a remote policy", "remote")


def encode(message: Any, dialect: Dialect = OPENPI) -> bytes:
    """A frame. Raises WireError for what the format has no form for."""
    try:
        return msgpack().packb(message, default=lambda value: _pack(value, dialect))
    except (TypeError, OverflowError) as problem:
        raise WireError(f"cannot be sent: {problem}") from None


def decode(frame: bytes, dialect: Dialect = OPENPI) -> Any:
    """The message in a frame. Raises WireError where it is not one."""
    count = _Count()
    try:
        return msgpack().unpackb(
            frame,
            object_hook=lambda found: _unpack(count.of(found), dialect),
            list_hook=count.of,
            max_array_len=MOST_ENTRIES,
            max_map_len=MOST_ENTRIES,
        )
    except WireError:
        raise
    except Exception as problem:  # msgpack has a zoo of its own, and bytes from elsewhere may break anything in it
        detail = str(problem) or type(problem).__name__
        raise WireError(f"found {len(frame)} bytes that are no msgpack message ({detail})") from None


def as_array(value: Any) -> np.ndarray:
    """A decoded value as an array: one that travelled as such, a number, or lists of numbers. Raises WireError for
    anything else: of text, numpy would make rows as long as the longest."""
    if isinstance(value, (np.ndarray, np.generic, bool, int, float)):
        return np.asarray(value)
    if not isinstance(value, list) or not _all_numbers(value):
        raise WireError(f"found a {type(value).__name__}; expected an array, or lists of numbers")
    try:
        return np.asarray(value)
    except ValueError as problem:
        raise WireError(str(problem)) from None


def _all_numbers(value: list[Any]) -> bool:
    kinds = (bool, int, float, np.ndarray, np.generic)
    return all(_all_numbers(item) if isinstance(item, list) else isinstance(item, kinds) for item in value)


class _Count:
    """Adds up the entries of a frame's lists and maps."""

    def __init__(self) -> None:
        self._values = 0

    def of(self, found: Any) -> Any:
        """The list or map itself, counted. Raises WireError where there are too many."""
        self._values += len(found)
        if self._values > MOST_VALUES:
            raise WireError(f"found more than {MOST_VALUES:,} values in one frame; expected arrays")
        return found


def _pack(value: Any, dialect: Dialect) -> Any:
    if not isinstance(value, np.ndarray | np.generic):
        raise TypeError(f"found a {type(value).__name__}; expected numbers, text, bytes, lists, dicts or arrays")
    _check_dtype(value.dtype, dialect)
    said = {dialect.dtype: value.dtype.str}
    if isinstance(value, np.ndarray):
        return {dialect.array: True, dialect.data: value.tobytes(), **said, dialect.shape: value.shape}
    if dialect.scalar is None:
        return value.item()
    return {dialect.scalar: True, dialect.data: value.item(), **said}


def _unpack(found: dict[Any, Any], dialect: Dialect) -> Any:
    if dialect.array in found:
        return _array(found, dialect)
    if dialect.scalar is not None and dialect.scalar in found:
        return _scalar(found, dialect)
    return found


def _scalar(found: dict[Any, Any], dialect: Dialect) -> Any:
    dtype, data = _dtype(found, dialect), found.get(dialect.data)
    if not isinstance(data, _SCALARS.get(dtype.kind, ())):
        raise WireError(f"found a scalar of dtype {dtype} with {type(data).__name__} data")
    return dtype.type(data)


def _array(found: dict[Any, Any], dialect: Dialect) -> np.ndarray:
    dtype, data, shape = _dtype(found, dialect), found.get(dialect.data), found.get(dialect.shape)
    if not isinstance(data, bytes) or not isinstance(shape, list | tuple):
        raise WireError("found an array without data and shape")
    if not all(isinstance(n, int) and n >= 0 for n in shape):
        raise WireError(f"found an array of shape {list(shape)}; expected whole numbers")
    if not dtype.itemsize or math.prod(shape) * dtype.itemsize != len(data):
        raise WireError(f"found {len(data)} bytes for an array of shape {list(shape)} and dtype {dtype}")
    return np.ndarray(buffer=data, dtype=dtype, shape=tuple(shape))


def _dtype(found: dict[Any, Any], dialect: Dialect) -> np.dtype[Any]:
    name = found.get(dialect.dtype)
    try:
        dtype = np.dtype(name if isinstance(name, str) and _DTYPE.match(name) else "not a dtype")
    except (TypeError, ValueError, SyntaxError):
        named = repr(name[:40]) if isinstance(name, str) else str(name)[:40]
        raise WireError(f"found an array of dtype {named}; expected one of numpy's") from None
    _check_dtype(dtype, dialect)
    return dtype


def _check_dtype(dtype: np.dtype[Any], dialect: Dialect) -> None:
    if dtype.kind in dialect.refused:
        raise WireError(f"found an array of dtype {dtype}; {dialect.why}")
