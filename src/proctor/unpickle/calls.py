"""What a pickle may have called, as functions of our own: name -> (budget, arguments) -> value.

Each checks its arguments and raises TypeError or ValueError for what the real one would not have been given.
"""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any, NamedTuple

from proctor.unpickle.arrays import PendingArray, PendingType, array_of, scalar_of
from proctor.unpickle.limits import Budget, as_dict, as_key


class Name(NamedTuple):
    """A module and what it has; never imported."""

    module: str
    name: str

    @classmethod
    def of(cls, module: str, name: str) -> Name:
        """By the newest name of the module: numpy and Python 2 had others."""
        root = module.replace("numpy.core", "numpy._core").replace("__builtin__", "builtins")
        return cls(root, name)


class Inert:
    """An object of another package as data: what it is, and its state as a dict."""

    def __init__(self, name: Name):
        self.name = name
        self.state: dict[Any, Any] = {}


def _pending_array(budget: Budget, kind: Any, shape: Any, code: Any) -> PendingArray:
    if kind != Name("numpy", "ndarray"):
        raise TypeError("an array of another class")
    return PendingArray()


def _bytes(budget: Budget, text: str = "", encoding: str = "latin1") -> bytes:
    """Protocols below 3 have no bytes; they keep them as text."""
    if not isinstance(text, str):
        raise TypeError(f"bytes from a {type(text).__name__}")
    if encoding not in ("latin1", "latin-1"):
        raise ValueError("a codec other than latin1")
    budget.charge(len(text))
    return text.encode("latin1")


def _bytearray(budget: Budget, data: bytes | str = b"", encoding: str = "latin1") -> bytearray:
    if isinstance(data, str):
        return bytearray(_bytes(budget, data, encoding))
    if not isinstance(data, bytes):
        raise TypeError("a bytearray of something else than bytes")
    budget.charge(len(data))
    return bytearray(data)


def _items(budget: Budget, items: Any) -> list[Any]:
    if not isinstance(items, list | tuple):
        raise TypeError(f"items from a {type(items).__name__}")
    budget.charge(8 * len(items))
    return list(items)


def _ordered_dict(budget: Budget, pairs: Any = ()) -> collections.OrderedDict[Any, Any]:
    return collections.OrderedDict(as_dict((key, value) for key, value in _items(budget, pairs)))


def _set(budget: Budget, items: Any = ()) -> set[Any]:
    return set(map(as_key, _items(budget, items)))


def _complex(budget: Budget, real: float, imaginary: float) -> complex:
    return complex(float(real), float(imaginary))


def _uncallable(budget: Budget, *_arguments: Any) -> Any:
    raise TypeError("a call of a class that is only named")


JOBLIB_ARRAY = Name("joblib.numpy_pickle", "NumpyArrayWrapper")

CALLS: dict[Name, Callable[..., Any]] = {
    Name("numpy", "ndarray"): _uncallable,
    JOBLIB_ARRAY: _uncallable,
    Name("numpy", "dtype"): lambda budget, code, *_: PendingType(code),
    Name("numpy._core.multiarray", "_reconstruct"): _pending_array,
    Name("numpy._core.multiarray", "scalar"): scalar_of,
    Name("numpy._core.numeric", "_frombuffer"): array_of,
    Name("collections", "OrderedDict"): _ordered_dict,
    Name("builtins", "set"): _set,
    Name("builtins", "frozenset"): lambda budget, items=(): frozenset(_set(budget, items)),
    Name("builtins", "bytearray"): _bytearray,
    Name("builtins", "bytes"): _bytes,
    Name("builtins", "complex"): _complex,
    Name("_codecs", "encode"): _bytes,
}
