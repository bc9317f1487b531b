"""Passages of an instrument through a vessel as data: what pictures of a trial are drawn of.

Places are those of the C-arm's picture in mm, to the right and up: the first and third tracking coordinate.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Vessel:
    """Centrelines `points` (n, 2) with `radii` (n,), mm, branch after branch; `starts` are the first rows of the
    branches."""

    points: np.ndarray
    radii: np.ndarray
    starts: tuple[int, ...]

    @property
    def key(self) -> str:
        """Equal for equal vessels; fit for an `id`."""
        h = hashlib.blake2b(np.ascontiguousarray(self.points).tobytes(), digest_size=5)
        h.update(np.ascontiguousarray(self.radii).tobytes())
        return f"vessel-{h.hexdigest()}"

    def branches(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """(points, radii) of every branch."""
        ends = (*self.starts[1:], len(self.points))
        return [(self.points[a:b], self.radii[a:b]) for a, b in zip(self.starts, ends, strict=True)]


@dataclass(frozen=True)
class Peak:
    """The largest force of a trial: how much, when, and where (2,) it acted, or where the tip was."""

    force: float
    time: float
    place: np.ndarray


@dataclass(frozen=True)
class Passage:
    """One recorded trial, thinned to `n` points. `tip` (n, 2) and `times` (n,), in `time_unit`, are kept rows of the
    record; `force` (n,) is the largest wall force since the row before, NaN where none was measured, None where none
    was recorded; `inserted_mm` (n,) is the inserted length. `wire` (m, 2) is the wire's shape at the end."""

    agent: str
    task: str
    index: int
    seed: int
    outcome: str
    npz: str
    video: str | None
    tip: np.ndarray
    times: np.ndarray
    time_unit: str
    force: np.ndarray | None
    force_unit: str
    peak: Peak | None
    inserted_mm: np.ndarray | None
    wire: np.ndarray | None
    target: np.ndarray | None
    threshold_mm: float | None
    vessel: Vessel | None
    pictured: bool
    """Whether it has a picture of its own; the others give their force only."""

    @property
    def duration(self) -> float:
        return float(self.times[-1])

    @property
    def picture(self) -> str | None:
        """Its PNG, relative to the run folder."""
        return f"pictures/{self.npz.rpartition('/')[2].removesuffix('.npz')}.png" if self.pictured else None

    def keys(self) -> dict[str, Any]:
        """For `report.json`."""
        return {
            "agent": self.agent,
            "task": self.task,
            "trial": self.index,
            "seed": self.seed,
            "outcome": self.outcome,
            "duration": self.duration,
            "unit": self.time_unit,
            "force_max": None if self.peak is None else self.peak.force,
            "force_max_at": None if self.peak is None else self.peak.time,
            "force_unit": self.force_unit,
            "npz": self.npz,
            "picture": self.picture,
            "video": self.video,
        }
