"""Objects of this process that a config names: models and makers of environments that no file has.

A config is plain data, and says `NAME@HASH` of such an object (`proctor.identity`). The object itself is lent for as
long as somebody runs that config; nobody else can run it, which is said in a sentence.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from proctor.errors import InputError
from proctor.identity import identity_of

PREFIX = "in-memory"
"""Where an import string has its module: `in-memory:NAME@HASH`."""
_LETTERS = 16

_LENT: dict[str, list[Any]] = {}
_LOCK = threading.Lock()


def key_of(name: str, found: Any) -> str:
    """What a config calls an object."""
    return f"{name}@{identity_of(found)[:_LETTERS]}"


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
