"""A metric: how near the boat came."""

from __future__ import annotations

from typing import ClassVar

from proctor import Episode, Metric
from proctor.metrics import Direction


class ClearanceMin(Metric):
    """The smallest distance to the quay."""

    name: ClassVar[str] = "harbour_clearance_min_m"
    unit: ClassVar[str] = "m"
    direction: ClassVar[Direction] = "down"
    needs: ClassVar[tuple[str, ...]] = ("clearance_m",)

    def __call__(self, episode: Episode) -> float | None:
        clearance = episode.arrays.get("clearance_m")
        return None if clearance is None else float(clearance.min())
