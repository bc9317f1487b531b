"""Embeddings that know their space.

Two vectors of 512 numbers may come from a text encoder and from a picture encoder: their cosine is a number, and says
nothing. So an embedding carries the name of its space, and everything that compares two asks for one name.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from proctor.errors import InputError


class SpaceMismatch(InputError):
    """Embeddings of different spaces were to be compared."""


@dataclass(frozen=True, eq=False)
class Embeddings:
    """`vectors` (n, d), float32 or float64, one embedding to a row, all of one `space`. Only their directions count:
    every metric reads `units`. Raises InputError for what has no direction: NaN, infinity, zeros."""

    vectors: np.ndarray
    space: str

    def __post_init__(self) -> None:
        if not self.space:
            raise InputError("embeddings without the name of their space; name the encoder that they come from")
        if self.vectors.ndim != 2 or not self.vectors.shape[1]:
            raise InputError(
                f"embeddings of space {self.space} have the shape {self.vectors.shape}; expected (n, d) with d >= 1"
            )
        if self.vectors.dtype not in (np.float32, np.float64):
            raise InputError(f"embeddings of space {self.space} are {self.vectors.dtype}; expected float32 or float64")

    @classmethod
    def of(cls, vectors: np.ndarray, space: str) -> Embeddings:
        """From any numbers (n, d); halves and integers become float32."""
        array = np.asarray(vectors)
        kept = array.dtype in (np.float32, np.float64)
        return cls(array if kept else array.astype(np.float32), space)

    def __len__(self) -> int:
        return len(self.vectors)

    @property
    def dim(self) -> int:
        return self.vectors.shape[1]

    @cached_property
    def units(self) -> np.ndarray:
        """The vectors divided by their lengths, (n, d)."""
        return unit_rows(self.vectors, self.space)


def unit_rows(vectors: np.ndarray, name: str) -> np.ndarray:
    """`vectors` (..., d) divided by their lengths, in their dtype. `name` is for the error of a row without a
    direction."""
    lengths = np.sqrt(np.einsum("...i,...i->...", vectors, vectors))
    if np.isfinite(lengths).all() and (lengths > np.finfo(vectors.dtype).tiny ** 0.4).all():
        return vectors / lengths[..., None]
    largest = np.abs(vectors).max(axis=-1, keepdims=True, initial=0)
    wrong = np.argwhere(~(np.isfinite(largest) & (largest > 0))[..., 0])
    if len(wrong):
        row = wrong[0].tolist()
        found = "zeros only" if largest[tuple(wrong[0])][0] == 0 else "NaN or infinity"
        raise InputError(
            f"embedding {row[0] if len(row) == 1 else row} of {name} holds {found}, and has no direction "
            f"({len(wrong)} of {largest.size}); mend the model that gave it, or leave the row out"
        )
    return unit_rows(vectors / largest, name)


def same_space(one: Embeddings, other: Embeddings, what: str) -> None:
    """Raises SpaceMismatch, saying `what` was to be computed, unless both have one space and one dimension."""
    if one.space != other.space:
        raise SpaceMismatch(
            f"{what} compares embeddings of the space {one.space} with embeddings of the space {other.space}: a cosine "
            "between two spaces means nothing, even where both have as many dimensions. Encode both with one encoder"
        )
    if one.dim != other.dim:
        raise SpaceMismatch(
            f"{what}: embeddings of {one.dim} and of {other.dim} dimensions both name the space {one.space}; give the "
            "encoders names of their own"
        )
