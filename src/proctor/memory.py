"""Objects of this process that a config names: models and makers of environments that no file has.

A config is plain data, and says `NAME@HASH` of such an object (`proctor.memory`). The object itself is lent for as
long as somebody runs that config; nobody else can run it, which is said in a sentence.

The hash says what the object is: of a model its weights, of a function its code and what it closes over. Equal objects
have equal identities within one version of Python, in every process; a weight or a constant that changes changes it.
What cannot be read (a compiled extension, an open connection) counts by its type alone.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import re
import threading
import types
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from proctor.errors import InputError

PREFIX = "in-memory"
"""Where an import string has its module: `in-memory:NAME@HASH`."""
_LETTERS = 16

_LENT: dict[str, list[Any]] = {}
_LOCK = threading.Lock()


def key_of(name: str, found: Any) -> str:
    """What a config calls an object. The name is there to be read: of what a config would take for a path or an import
    string, only letters, digits, dots and dashes stay."""
    readable = re.sub(r"[^\w.-]+|^[.]+", "_", name)
    return f"{readable}@{identity_of(found)[:_LETTERS]}"


@contextmanager
def lent(objects: Mapping[str, Any]) -> Iterator[None]:
    """Within this block the objects can be had by their keys, in this process."""
    with _LOCK:
        for key, found in objects.items():
            _LENT.setdefault(key, []).append(found)
    try:
        yield
    finally:
        with _LOCK:
            for key in objects:
                _LENT[key].pop()
                if not _LENT[key]:
                    del _LENT[key]


def borrowed(key: str, what: str) -> Any:
    """The object with this key. Raises InputError where this process does not have it."""
    with _LOCK:
        found = _LENT.get(key)
    if found is None:
        raise InputError(
            f"{what} is an object that was in the memory of the process that began the run ({key}), and this process "
            "does not have it. Go on from Python with the same object: proctor.evaluate(policy, env, resume=RUN); or "
            "put it into a file and name it there: file.py:NAME"
        )
    return found[-1]


_DEEPEST = 12


def identity_of(found: Any) -> str:
    """SHA-256 of what decides how an object behaves, in hexadecimal."""
    hashed = _Hash()
    hashed.add(found, 0)
    return hashed.digest.hexdigest()


class _Hash:
    def __init__(self) -> None:
        self.digest = hashlib.sha256()
        self._seen: dict[int, Any] = {}

    def say(self, *words: str) -> None:
        for word in words:
            self.digest.update(f"{len(word)}:{word};".encode(errors="surrogatepass"))

    def add(self, found: Any, depth: int) -> None:
        self.say(type(found).__qualname__)
        if found is None or isinstance(found, bool | int | float | complex | str | bytes):
            self.say(repr(found))
        elif id(found) in self._seen or depth > _DEEPEST:
            self.say("again")
        else:
            self._seen[id(found)] = found
            self._parts(found, depth + 1)

    def _parts(self, found: Any, depth: int) -> None:
        if isinstance(found, np.ndarray | np.generic):
            self._array(np.asarray(found))
        elif isinstance(found, Mapping):
            for key, value in sorted(found.items(), key=lambda item: repr(item[0])):
                self.say(repr(key))
                self.add(value, depth)
        elif isinstance(found, list | tuple):
            for item in found:
                self.add(item, depth)
        elif isinstance(found, set | frozenset):
            self.say(*sorted(map(repr, found)))
        elif isinstance(found, types.CodeType):
            self._code(found, depth)
        elif isinstance(found, functools.partial):
            self.add((found.func, found.args, found.keywords), depth)
        elif isinstance(found, types.MethodType):
            self.add((found.__func__, found.__self__), depth)
        elif isinstance(found, types.FunctionType):
            self._function(found, depth)
        elif isinstance(found, type | types.ModuleType | types.BuiltinFunctionType):
            self._named(found, depth)
        else:
            self._object(found, depth)

    def _array(self, array: np.ndarray) -> None:
        self.say(array.dtype.str, str(array.shape))
        self.digest.update(np.ascontiguousarray(array).tobytes() if not array.dtype.hasobject else b"objects")

    def _code(self, code: types.CodeType, depth: int) -> None:
        self.say(code.co_code.hex(), *code.co_names)
        for constant in code.co_consts:
            self.add(constant, depth)

    def _function(self, function: types.FunctionType, depth: int) -> None:
        """Its code, its defaults, and what it closes over or reads of its module."""
        self.add(function.__code__, depth)
        self.add((function.__defaults__, function.__kwdefaults__), depth)
        for cell in function.__closure__ or ():
            self.add(_content(cell), depth)
        for name in function.__code__.co_names:
            if name in function.__globals__:
                self.say(name)
                self.add(function.__globals__[name], depth)

    def _named(self, found: Any, depth: int) -> None:
        """A module or class by its name; of a class that is no package's, its functions, too."""
        self.say(getattr(found, "__module__", None) or "", getattr(found, "__qualname__", None) or found.__name__)
        if isinstance(found, type) and inspect.getmodule(found) is not None and _is_own(found):
            for name, value in sorted(vars(found).items()):
                if isinstance(value, types.FunctionType):
                    self.say(name)
                    self.add(value, depth)

    def _object(self, found: Any, depth: int) -> None:
        self.add(type(found), depth)
        weights = getattr(found, "state_dict", None) or getattr(getattr(found, "policy", None), "state_dict", None)
        if callable(weights) and isinstance(held := weights(), Mapping):
            self.say(repr(getattr(found, "policy", found)))
            for name, value in held.items():
                self.say(str(name))
                self._array(value.detach().cpu().float().numpy() if hasattr(value, "detach") else np.asarray(value))
            return
        for name, value in sorted(getattr(found, "__dict__", {}).items()):
            self.say(name)
            self.add(value, depth)


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _is_own(found: type) -> bool:
    """Whether a class was written by the caller: its file is not among installed packages."""
    try:
        file = inspect.getfile(found)
    except (TypeError, OSError):
        return found.__module__ == "__main__"
    return "site-packages" not in file and "dist-packages" not in file
