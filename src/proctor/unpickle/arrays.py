"""Arrays from what a pickle says of them: a type, a shape and bytes, each checked before numpy sees it.

Read are numbers, truth values, text and bytes of a fixed length, and arrays of objects (which are what else was read);
structured types, dates and subclasses are not.
"""

from __future__ import annotations

import abc
import io
import math
import re
from typing import Any

import numpy as np

from proctor.unpickle.limits import Budget

_PLAIN = re.compile(r"b1|[iu][1248]|f(?:2|4|8|16)|c(?:8|16|32)|[SU]\d{1,9}|O8?")
_ORDERS = ("<", ">", "|", "=")
_DIMENSIONS_MAX = 32
_LENGTH_MAX = 2**62
_BEYOND_TEXT = 0x110000
_HALVES = (0xD800, 0xE000)
"""The first half of a character, and what comes after the last."""


class Pending(abc.ABC):
    """Something that a pickle names first and describes later. `memo` are the numbers it is remembered under."""

    def __init__(self) -> None:
        self.memo: list[int] = []

    @abc.abstractmethod
    def built(self, budget: Budget, state: Any) -> Any:
        """What it is, now that its state is known."""


class PendingType(Pending):
    """A `dtype`; the state adds the byte order, and may not make anything else of it."""

    def __init__(self, code: Any):
        super().__init__()
        if not isinstance(code, str) or not _PLAIN.fullmatch(code):
            raise TypeError(f"an array of the type {code!r:.40}")
        self._type = np.dtype(code)

    def built(self, budget: Budget, state: Any) -> np.dtype[Any]:
        if not isinstance(state, tuple) or len(state) < 5 or state[1] not in _ORDERS or state[2:5] != (None,) * 3:
            raise TypeError("an array of a structured type")
        return self._type if state[1] in ("|", "=") else self._type.newbyteorder(state[1])


class PendingArray(Pending):
    """An array; the state is (version, shape, type, whether columns come first, data)."""

    def built(self, budget: Budget, state: Any) -> np.ndarray:
        if not isinstance(state, tuple) or len(state) != 5:
            raise TypeError("an array without type, shape and data")
        _, shape, kind, columns_first, data = state
        return array_of(budget, data, kind, shape, "F" if columns_first else "C")


class PendingJoblib(Pending):
    """An array as joblib saves it: the pickle describes it, and its bytes stand in the file right behind, outside of
    the pickle; before them, in newer files, a byte that says how many bytes of padding follow."""

    def __init__(self, file: io.BytesIO):
        super().__init__()
        self._file = file

    def built(self, budget: Budget, state: Any) -> np.ndarray:
        if not isinstance(state, dict):
            raise TypeError("an array without type, shape and data")
        kind, shape = state.get("dtype"), state.get("shape")
        if not isinstance(kind, np.dtype) or kind.hasobject:
            raise TypeError("an array of objects, saved by joblib")
        if state.get("numpy_array_alignment_bytes") is not None:
            self._file.seek(int.from_bytes(self._file.read(1), "little"), io.SEEK_CUR)
        size = _count(shape) * kind.itemsize
        budget.charge(size)
        return array_of(budget, self._file.read(size), kind, shape, "F" if state.get("order") == "F" else "C")


def array_of(budget: Budget, data: Any, kind: Any, shape: Any, order: Any = "C", axes: Any = None) -> np.ndarray:
    """An array of its own memory. Raises TypeError or ValueError unless data, type and shape fit each other."""
    count = _count(shape)
    if not isinstance(kind, np.dtype) or order not in ("C", "F", "K"):
        raise TypeError("an array without a type")
    if kind.hasobject:
        flat = _objects(budget, data, count)
    else:
        flat = _numbers(budget, data, kind, count)
    if order == "K" and axes is not None:
        if not isinstance(axes, tuple) or sorted(axes) != list(range(len(shape))):
            raise ValueError("an array with an order of axes that is none")
        return flat.reshape(shape).transpose(axes)
    return flat.reshape(shape, order="F" if order == "F" else "C")


def scalar_of(budget: Budget, kind: Any, data: Any = b"") -> Any:
    """A single value of a numpy type."""
    if not isinstance(kind, np.dtype) or kind.hasobject:
        raise TypeError("a number without a type")
    return kind.type() if kind.itemsize == 0 else _numbers(budget, data, kind, 1)[0]


def _count(shape: Any) -> int:
    if not isinstance(shape, tuple) or len(shape) > _DIMENSIONS_MAX:
        raise TypeError("an array without a shape")
    if not all(type(length) is int and 0 <= length < _LENGTH_MAX for length in shape):
        raise ValueError("an array of a shape that no array has")
    return math.prod(shape)


def _objects(budget: Budget, data: Any, count: int) -> np.ndarray:
    if not isinstance(data, list) or len(data) != count:
        raise ValueError("an array of objects with more or fewer of them than its shape says")
    budget.charge(8 * count)
    flat = np.empty(count, object)
    for i, value in enumerate(data):
        flat[i] = value
    return flat


def _numbers(budget: Budget, data: Any, kind: np.dtype[Any], count: int) -> np.ndarray:
    raw = data.encode("latin1") if isinstance(data, str) else data
    if not isinstance(raw, bytes | bytearray):
        raise TypeError("an array whose data are no bytes")
    if kind.itemsize == 0 or len(raw) != count * kind.itemsize:
        raise ValueError(f"an array of {count} x {kind.itemsize} bytes with {len(raw)} bytes of data")
    budget.charge(len(raw))
    if not raw:
        return np.empty(0, kind)
    if kind.kind == "b":
        return np.frombuffer(raw, np.uint8) != 0
    flat = np.frombuffer(raw, kind).copy()
    if kind.kind == "U":
        points = flat.view(np.dtype(np.uint32).newbyteorder(kind.byteorder))
        if ((points >= _BEYOND_TEXT) | ((points >= _HALVES[0]) & (points < _HALVES[1]))).any():
            raise ValueError("an array of text that is no text")
    return flat
