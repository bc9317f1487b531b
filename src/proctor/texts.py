"""Words for numbers of things, and text as an array of bytes: how an instruction travels beside images, through shared
memory and into a batch. UTF-8, zeros after the last byte; a row of a batch is one text.
"""

from __future__ import annotations

import numpy as np

from proctor.errors import InputError


def count(n: int, word: str) -> str:
    """`1 trial`, `2 trials`, `12,000 trials`."""
    return f"{n:,} {word}" + ("" if n == 1 else "s")


def text_to_bytes(text: str, length: int) -> np.ndarray:
    """uint8 (length,). Raises InputError where the text is longer or holds a zero character."""
    data = text.encode()
    if len(data) > length or b"\0" in data:
        why = f"takes {len(data)} bytes" if len(data) > length else "holds a zero character"
        raise InputError(f'the text "{text}" {why}; there are {length} bytes for text')
    return np.frombuffer(data.ljust(length, b"\0"), np.uint8).copy()


def bytes_to_text(row: np.ndarray) -> str:
    """The text of one row, uint8 (length,). Raises InputError for what is no such row."""
    array = np.asarray(row)
    if array.dtype != np.uint8 or array.ndim != 1:
        raise InputError(f"found {array.dtype} {array.shape}; expected a text as uint8 (length,)")
    try:
        return array.tobytes().rstrip(b"\0").decode()
    except UnicodeDecodeError as error:
        raise InputError(f"the bytes are no UTF-8 text ({error.reason} at byte {error.start})") from None
