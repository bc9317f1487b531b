"""Token sequences of several lengths in one batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class LeftPad:
    """Sequences are filled up on the left to `length` with `value`, and a mask says which are tokens. `length` is
    declared and never follows the batch, so a row's shape does not depend on its neighbours."""

    length: int
    value: int = 0

    def __post_init__(self) -> None:
        if self.length < 1:
            raise ValueError(f"found length {self.length}; expected at least one token")


def left_pad(sequences: Sequence[Any], rule: LeftPad) -> tuple[np.ndarray, np.ndarray]:
    """Tokens `(rows, length)` int64, and a mask `(rows, length)` that is True where a token is. Raises ValueError for a
    sequence that is longer than declared (nothing is cut off silently) or that is no list of whole numbers."""
    tokens = np.full((len(sequences), rule.length), rule.value, np.int64)
    mask = np.zeros((len(sequences), rule.length), bool)
    for row, sequence in enumerate(sequences):
        found = as_tokens(sequence)
        if len(found) > rule.length:
            raise ValueError(
                f"found {len(found)} tokens; the stage declares LeftPad({rule.length}). Declare a greater length, or "
                "shorten the instruction"
            )
        if len(found):
            tokens[row, -len(found) :], mask[row, -len(found) :] = found, True
    return tokens, mask


def as_tokens(sequence: Any) -> np.ndarray:
    """One sequence as an int64 array; an empty one is allowed. Raises ValueError for anything but whole numbers in a
    row."""
    found = np.asarray(sequence)
    if found.ndim != 1 or (len(found) and found.dtype.kind not in "iu"):
        raise ValueError(
            f"found tokens of shape {found.shape} and dtype {found.dtype}; expected a list of whole numbers"
        )
    return found.astype(np.int64)
