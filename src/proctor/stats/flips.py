"""Sums with flipped signs without compiled code: the same to the bit as `kernels.flipped_sums`, which is quicker for
many values, but has to be loaded first."""

from __future__ import annotations

import numpy as np

FEW = 2_000
"""Values up to which loading what is compiled would take longer."""
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1, _MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_WORD = 64


def flipped_sums(out: np.ndarray, first: int, keys: np.ndarray, values: np.ndarray) -> None:
    """`out[r]`: the sum of the values, each with a sign of its own from the stream of replicate `first + r`. Values are
    added one after the other, each to all replicates."""
    replicates = np.arange(first, first + len(out), dtype=np.uint64)
    with np.errstate(over="ignore"):
        state = _mixed(_mixed(keys[:1] + _GOLDEN) ^ _mixed(replicates * _GOLDEN + _MIX_1))
        out[:] = 0.0
        word = state
        for i, value in enumerate(values.tolist()):
            if i % _WORD == 0:
                state = state + _GOLDEN
                word = _mixed(state)
            out += np.where(word & np.uint64(1), value, -value)
            word = word >> np.uint64(1)


def _mixed(state: np.ndarray) -> np.ndarray:
    z = (state ^ (state >> np.uint64(30))) * _MIX_1
    z = (z ^ (z >> np.uint64(27))) * _MIX_2
    return z ^ (z >> np.uint64(31))
