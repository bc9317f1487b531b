"""What an environment may give for a flag or a number. A value of another kind is a fault of the environment, which is
named: `terminated="False"` is no end, and a success that is NaN is no success.

A flag is True or False, also numpy's, or a number that is 0 or 1. An array or tensor with one element counts as that
element. Text never counts, whatever it says.
"""

from __future__ import annotations

import reprlib
from typing import Any

import numpy as np

NUMBERS = "biuf"
"""The kinds of numpy's dtypes that hold real numbers."""
PLAIN = (str, bytes, bool, int, float)


def flag(name: str, value: Any) -> bool:
    """Whether a flag is set. Raises ValueError, with this name, for what is neither true nor false."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    found = _single(value)
    if found is None or (found != 0.0 and found != 1.0):
        raise wrong_flag(name, value)
    return found == 1.0


def wrong_flag(name: str, value: Any) -> ValueError:
    """The error of a flag that is neither true nor false."""
    return ValueError(f"the environment gave {name} {shown(value)}; expected True or False, or 1 or 0")


def number(name: str, value: Any) -> float:
    """A number as float; it may be infinite or NaN. Raises ValueError, with this name, for what is none."""
    if isinstance(value, float):
        return float(value)
    found = _single(value)
    if found is None:
        raise ValueError(f"the environment gave {name} {shown(value)}; expected a number")
    return found


def odd_rows(flags: np.ndarray) -> list[int]:
    """The rows of a column `(rows,)` of flags or numbers that are neither true nor false."""
    if flags.dtype.kind == "b":
        return []
    return np.flatnonzero((flags != 0) & (flags != 1)).tolist()


def shown(value: Any) -> str:
    """A value as a message shows it, with its kind; without anything that is another in each process."""
    if isinstance(value, np.ndarray):
        kind = f"array of {value.dtype}"
        return f"an {kind}" if value.dtype.hasobject else f"{reprlib.repr(value.tolist())} ({kind})"
    name = type(value).__name__
    value = value.item() if isinstance(value, np.generic) else value
    return f"{reprlib.repr(value)} ({name})" if isinstance(value, PLAIN) else f"a value of type {name}"


def _single(value: Any) -> float | None:
    """A value that is one real number, or holds exactly one; None for any other."""
    if isinstance(value, np.ndarray):
        return float(value.item()) if value.size == 1 and value.dtype.kind in NUMBERS else None
    if isinstance(value, (str, bytes)):
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        return None
