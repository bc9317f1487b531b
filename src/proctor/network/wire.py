"""The wire format of openpi's policy server: msgpack with arrays.

An array is a map with the *bytes* keys `__ndarray__`, `data` (C order), `dtype` and `shape`; a numpy scalar one with
`__npgeneric__`, `data` and `dtype`, except float64, which is a Python float and travels as one. Object, void and
complex dtypes are refused both ways. Decoded arrays are read-only views of the frame. Nothing is ever executed.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from proctor.errors import optional

REFUSED_KINDS = "OVc"


class WireError(ValueError):
    """A message that cannot be sent, or a frame that is none. The text says what was found."""


def msgpack() -> Any:
    """The package, or MissingExtra."""
    return optional("msgpack", "a remote policy", "remote")


def encode(message: Any) -> bytes:
    """A frame. Raises WireError for what the format has no form for."""
    try:
        return msgpack().packb(message, default=_pack)
    except (TypeError, OverflowError) as problem:
        raise WireError(f"cannot be sent: {problem}") from None


def decode(frame: bytes) -> Any:
    """The message in a frame. Raises WireError where it is not one."""
    try:
        return msgpack().unpackb(frame, object_hook=_unpack)
    except WireError:
        raise
    except Exception as problem:  # msgpack has a zoo of its own, and bytes from elsewhere may break anything in it
        detail = str(problem) or type(problem).__name__
        raise WireError(f"found {len(frame)} bytes that are no msgpack message ({detail})") from None


def _pack(value: Any) -> Any:
    if not isinstance(value, np.ndarray | np.generic):
        raise TypeError(f"found a {type(value).__name__}; expected numbers, text, bytes, lists, dicts or arrays")
    _check_dtype(value.dtype)
    if isinstance(value, np.ndarray):
        return {b"__ndarray__": True, b"data": value.tobytes(), b"dtype": value.dtype.str, b"shape": value.shape}
    return {b"__npgeneric__": True, b"data": value.item(), b"dtype": value.dtype.str}


def _unpack(found: dict[Any, Any]) -> Any:
    if b"__ndarray__" in found:
        return _array(found)
    if b"__npgeneric__" in found:
        return _dtype(found).type(found.get(b"data"))
    return found


def _array(found: dict[Any, Any]) -> np.ndarray:
    dtype, data, shape = _dtype(found), found.get(b"data"), found.get(b"shape")
    if not isinstance(data, bytes) or not isinstance(shape, list | tuple):
        raise WireError("found an array without data and shape")
    if not all(isinstance(n, int) and n >= 0 for n in shape):
        raise WireError(f"found an array of shape {list(shape)}; expected whole numbers")
    if math.prod(shape) * dtype.itemsize != len(data):
        raise WireError(f"found {len(data)} bytes for an array of shape {list(shape)} and dtype {dtype}")
    return np.ndarray(buffer=data, dtype=dtype, shape=tuple(shape))


def _dtype(found: dict[Any, Any]) -> np.dtype[Any]:
    name = found.get(b"dtype")
    try:
        dtype = np.dtype(name if isinstance(name, str) else "not a dtype")
    except (TypeError, ValueError, SyntaxError):
        raise WireError(f"found an array of dtype {name!r}; expected one of numpy's") from None
    _check_dtype(dtype)
    return dtype


def _check_dtype(dtype: np.dtype[Any]) -> None:
    if dtype.kind in REFUSED_KINDS:
        raise WireError(f"found an array of dtype {dtype}; object, void and complex arrays are not sent")
