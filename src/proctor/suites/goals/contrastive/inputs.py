"""Texts and frames as the networks take them.

A text is a bag of words: a word counts in the bucket that its checksum names, so that there is no vocabulary to keep.
Frames are cut into square tiles, as a world of tiles is drawn.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence

import numpy as np

from proctor.errors import InputError

WORDS = re.compile(r"[a-z0-9]+")


def words(text: str) -> list[str]:
    """Lower-case words, without punctuation. Raises InputError where there is none."""
    found = WORDS.findall(text.lower())
    if not found:
        raise InputError(f"found the instruction {text!r}; expected at least one word (letters a to z, digits)")
    return found


def word_counts(texts: Sequence[str], buckets: int) -> np.ndarray:
    """Shares of the words of each text, float32 (n, buckets), rows of sum 1."""
    counts = np.zeros((len(texts), buckets), np.float32)
    for row, text in enumerate(texts):
        found = words(text)
        for word in found:
            counts[row, zlib.crc32(word.encode()) % buckets] += 1.0 / len(found)
    return counts


def tiles(frames: np.ndarray, side: int) -> np.ndarray:
    """uint8 frames (n, window, height, width, 3) cut into tiles of `side` pixels: float32
    (n, window, rows * columns, side * side * 3) in [-0.5, 0.5]."""
    n, window, height, width, _ = frames.shape
    rows, columns = height // side, width // side
    cut = frames.reshape(n, window, rows, side, columns, side, 3).transpose(0, 1, 2, 4, 3, 5, 6)
    return cut.reshape(n, window, rows * columns, side * side * 3).astype(np.float32) / np.float32(255) - np.float32(
        0.5
    )
