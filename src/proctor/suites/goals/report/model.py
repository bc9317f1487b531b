"""What a goal evaluation found, as data: everything that its files show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from proctor.report.model import RateEstimate
from proctor.stats import Interval
from proctor.suites.goals.evidence import Answers
from proctor.suites.goals.records import Records

DIMENSIONS = {
    "accuracy": "Goal accuracy",
    "quality_gap": "Quality gap",
    "consistency": "Consistency",
    "retrieval": "Retrieval",
    "discriminability": "Discriminability",
    "robustness": "Semantic robustness",
    "variance": "Variance",
}
REFERENCES = {
    "gain_cross_space": "Gain over the text, cross-space",
    "preservation_cross_space": "Preservation, cross-space",
}
"""Numbers that put two spaces side by side: for reference, never for a verdict."""

TRUTH = ("ground_truth", "proctor.suites.goals.references:GroundTruth")
"""Targets of the goal model that answers with the success visuals themselves."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A number with its n and interval. `no_interval` says why there is no interval, `reason` why there is no number
    (then `value` is None). `chance` is what goals that have nothing to do with the task would get; None where there is
    no such number."""

    value: float | None
    n: int
    interval: Interval | None = None
    no_interval: str | None = None
    reason: str | None = None
    chance: float | None = None

    @property
    def above_chance(self) -> bool:
        """Whether the number, with its interval where it has one, lies above chance; True where there is no chance
        level."""
        if self.value is None or self.chance is None:
            return True
        low = self.value if self.interval is None else self.interval.low
        return low > self.chance + 1e-9


def absent(reason: str, n: int = 0) -> Reading:
    """Not available, and why."""
    return Reading(None, n, reason=reason)


@dataclass(frozen=True)
class Dimension:
    """One dimension of one prior. `counts` is what `overall.n` counts, `method` how an interval is made; `band` is a
    word of the reference bands, None without a value or without bands. `most` is the largest value that there can be
    here, where that is not the end of the scale."""

    name: str
    overall: Reading
    counts: str
    method: str = ""
    band: str | None = None
    by_task: Mapping[str, Reading] = field(default_factory=dict)
    most: float | None = None


class Neighbour(NamedTuple):
    """A success visual near a goal: its row among all of them, its task, and the cosine."""

    row: int
    task: str
    cosine: float


@dataclass(frozen=True, eq=False)
class PriorReport:
    """One prior: what it answered, and what that came to."""

    answers: Answers
    dimensions: Mapping[str, Dimension]
    """Those of DIMENSIONS and of REFERENCES."""
    degenerate: bool | None
    """None where it cannot be told."""
    own: np.ndarray
    """Cosines of goals with success visuals of their task, (n,)."""
    other: np.ndarray
    """The same with those of other tasks; a sample where there are many."""
    nearest: Mapping[str, Sequence[Neighbour]]
    places: np.ndarray
    """Goals on the map, (t, 2); no rows where there is none."""
    rates: Mapping[str, RateEstimate] = field(default_factory=dict)
    """Of the ablation, by task; under "" over all."""

    @property
    def name(self) -> str:
        return self.answers.name

    @property
    def is_truth(self) -> bool:
        """Whether this is the ground truth: no model, but what models are measured against."""
        return self.answers.target in TRUTH

    @property
    def flag(self) -> str:
        """What is wrong with the prior as a whole, in a word or two; empty where nothing is known to be."""
        if self.answers.is_the_text:
            return "the text embedding"
        return "degenerate" if self.degenerate else ""


@dataclass(frozen=True, eq=False)
class VisualMap:
    """Success visuals on the map: `places` (n, 2), `task` (n,) by number; `explained` is the share of the spread that
    each of the two directions holds. Goals of all priors are on the same map."""

    places: np.ndarray
    task: np.ndarray
    explained: tuple[float, float]


@dataclass(frozen=True, eq=False)
class GoalsReport:
    """A whole evaluation: its records, and what they came to."""

    records: Records
    generated_at: str
    priors: tuple[PriorReport, ...]
    pictures: Mapping[int, np.ndarray] = field(default_factory=dict)
    """Those of neighbours by row, uint8 (height, width, 3)."""
    map: VisualMap | None = None
    visual_rates: Mapping[str, RateEstimate] = field(default_factory=dict)
    """Of the ablation with ground-truth visual goals."""
    cautions: tuple[str, ...] = ()

    def ranked(self) -> list[PriorReport]:
        """Priors by accuracy, best first; those without one last."""
        return sorted(self.priors, key=lambda p: -(p.dimensions["accuracy"].overall.value or -np.inf))
