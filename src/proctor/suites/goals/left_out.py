"""Dimensions that are means over tasks of numbers whose interval comes from leaving units out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from proctor.suites.goals.intervals import COSINE, JACKKNIFE, Range, jackknife
from proctor.suites.goals.report.model import Dimension, Reading

ROUNDING = 1e-12
"""Of a mean of cosines in double precision."""


class Part(NamedTuple):
    """The value of a task, its values with each unit left out in turn, the number of units, and the chance level."""

    value: float
    without: np.ndarray
    n: int
    chance: float | None = None


def over_tasks(name: str, counted: str, parts: Mapping[str, Part | Reading], level: float) -> Dimension:
    """The mean over tasks of cosines, with an interval from within them. A Reading in the place of a part says why
    there is none; one task at least has a part."""
    known = [part for part in parts.values() if not isinstance(part, Reading)]
    by_task = {
        task: part if isinstance(part, Reading) else left_out(part.value, [part], level) for task, part in parts.items()
    }
    overall = left_out(float(np.mean([part.value for part in known])), known, level)
    return Dimension(name, overall, counted, JACKKNIFE, by_task=by_task)


def left_out(value: float, parts: Sequence[Part], level: float, within: Range = COSINE) -> Reading:
    """A value with the interval of these parts; numbers beyond the range by rounding are its end."""
    value = min(max(value, within[0]), within[1])
    value = value if abs(value) > ROUNDING else 0.0
    spread = jackknife(value, [part.without for part in parts], level, within)
    return Reading(value, sum(part.n for part in parts), *spread, chance=mean_chance([part.chance for part in parts]))


def mean_chance(levels: Sequence[float | None]) -> float | None:
    """The mean of chance levels; None where one is missing."""
    known = [level for level in levels if level is not None]
    return float(np.mean(known)) if known and len(known) == len(levels) else None


def with_others(ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """By task the mean product of every other task's row of `ours` with the task's own row of `theirs`, both (t, d):
    what goals of other tasks get here. NaN for one task."""
    n = len(ours)
    if n < 2:
        return np.full(n, np.nan)
    return (theirs @ ours.sum(axis=0) - np.einsum("ij,ij->i", ours, theirs)) / (n - 1)


def known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
