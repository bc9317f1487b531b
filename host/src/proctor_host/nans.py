"""Which observations hold NaN: looked for after every step, so it must cost next to nothing.

A NaN makes every sum NaN that it enters, so one sum (of squares, where there are many) tells of a whole array. What
else could make it so, infinities of both signs, is ruled out by a second look.
"""

from __future__ import annotations

from typing import Sequence

import numpy as np

from proctor_host.layout import Layout

FEW = 16
"""Numbers that are added sooner by Python than numpy gets going."""
SMALL, SEVERAL = 1024, 4
"""Observations of so few numbers are looked at together, where there are more than several."""


class Nans:
    """Looks into the columns `seen` of a task, one array `(slots, *shape)` per leaf of its layout."""

    def __init__(self, layout: Layout, seen: Sequence[np.ndarray]):
        pairs = zip(layout.leaves, seen)
        self._leaves = [
            (leaf.label, column.reshape(len(column), -1)) for leaf, column in pairs if leaf.dtype.kind == "f"
        ]

    def found(self, slots: Sequence[int]) -> dict[int, str]:
        """The leaf that holds a NaN, by slot: nearly always nothing."""
        suspects = [leaf for leaf in self._leaves if self._suspected(leaf[1], slots)]
        if not suspects:
            return {}
        return {slot: name for name, column in suspects for slot in slots if np.isnan(column[slot]).any()}

    @staticmethod
    def _suspected(column: np.ndarray, slots: Sequence[int]) -> bool:
        size = column.shape[1]
        if len(slots) > SEVERAL and size <= SMALL:
            rows = column if len(slots) == len(column) else column[slots]
            total = np.vdot(rows, rows)  # unlike `dot`, it does not warn of numbers whose squares are infinite
            return bool(total != total)
        for slot in slots:
            row = column[slot]
            total = sum(row.tolist()) if size <= FEW else np.vdot(row, row)
            if total != total:
                return True
        return False


def nan_in(name: str) -> str:
    """What is wrong with an observation that holds a NaN in this leaf."""
    where = "the observation" if name == "observation" else f'the observation "{name}"'
    return f"the environment gave NaN in {where}; if that is meant, the task can say nan_observations: allow"
