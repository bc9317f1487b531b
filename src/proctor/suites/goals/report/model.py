"""What a goal evaluation found, as data: everything that its files show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from proctor.stats import Interval

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


@dataclass(frozen=True, slots=True)
class Reading:
    """A number with its n and interval. `reason` says why there is no number (then `value` is None), `no_interval` why
    there is no interval."""

    value: float | None
    n: int
    interval: Interval | None = None
    reason: str | None = None
    no_interval: str | None = None


def absent(reason: str, n: int = 0) -> Reading:
    """Not available, and why."""
    return Reading(None, n, None, reason)


@dataclass(frozen=True)
class Dimension:
    """One dimension of one prior. `counts` is what `overall.n` counts, `method` how the interval was made; `band` is a
    word of the reference bands, None without a value or without bands."""

    name: str
    overall: Reading
    counts: str
    method: str
    band: str | None = None
    by_task: Mapping[str, Reading] = field(default_factory=dict)


class Neighbour(NamedTuple):
    """A success visual near a goal: its place in the report's list of pictures, its task, and the cosine."""

    picture: int
    task: str
    cosine: float


class Rate(NamedTuple):
    """Successes of an ablation."""

    won: int
    n: int
    interval: Interval | None

    @property
    def value(self) -> float | None:
        return self.won / self.n if self.n else None


@dataclass(frozen=True, eq=False)
class PriorReport:
    """One prior. Arrays follow `tasks`, the tasks it has goals for; `missing` says why it has none for others."""

    name: str
    target: str
    space: str
    dim: int
    tasks: tuple[str, ...]
    dimensions: Mapping[str, Dimension]
    references: Mapping[str, Dimension]
    degenerate: bool | None
    """None where it cannot be told."""
    similarity: np.ndarray
    """Mean cosines between tasks, (t, t)."""
    own: np.ndarray
    """Cosines of goals with success visuals of their task, (n,)."""
    other: np.ndarray
    """The same with those of other tasks; a sample where there are many."""
    nearest: Mapping[str, Sequence[Neighbour]]
    places: np.ndarray
    """Goals on the map, (t, 2)."""
    rates: Mapping[str, Rate] = field(default_factory=dict)
    """Of the ablation, by task; under "" over all."""
    missing: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class VisualMap:
    """Success visuals on the map: `places` (n, 2), `task` (n,) by number; `explained` is the share of the spread that
    each of the two directions holds. Goals of all priors are on the same map."""

    places: np.ndarray
    task: np.ndarray
    explained: tuple[float, float]


@dataclass(frozen=True, eq=False)
class GoalsReport:
    """A whole evaluation. `pictures` are uint8 (height, width, 3); neighbours point to them."""

    name: str
    generated_at: str
    tasks: tuple[str, ...]
    instructions: Mapping[str, Sequence[str]]
    """All wordings by task, the instruction first."""
    priors: tuple[PriorReport, ...]
    visuals: Mapping[str, Any]
    """What is known of the success visuals: space, encoder, n and seeds by task."""
    settings: Mapping[str, Any]
    level: float
    pictures: Sequence[np.ndarray] = ()
    map: VisualMap | None = None
    visual_rates: Mapping[str, Rate] = field(default_factory=dict)
    """Of the ablation with ground-truth visual goals."""
    cautions: tuple[str, ...] = ()

    def ranked(self) -> list[PriorReport]:
        """Priors by accuracy, best first; those without one last."""
        return sorted(self.priors, key=lambda p: -(p.dimensions["accuracy"].overall.value or -np.inf))
