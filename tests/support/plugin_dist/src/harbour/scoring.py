"""A scoring: success, less what is left to the quay."""

from __future__ import annotations

from typing import ClassVar

from proctor import Score, Scoring, TrialResult
from proctor.scoring import ScoringOptions


class CarefulOptions(ScoringOptions):
    """`metric`: what is taken off, by the metric's name; `weight`: how much of it."""

    metric: str = "harbour_clearance_min_m"
    weight: float = 0.1


class Careful(Scoring):
    """Success, less a weighted metric."""

    name, version, components, floor = "harbour_careful", "1", ("success", "distance"), -1.0
    Options: ClassVar[type[ScoringOptions]] = CarefulOptions

    def rate(self, result: TrialResult) -> Score:
        distance = result.metrics.get(self.options.metric)
        if distance is None:
            return Score(None)
        success = float(result.success)
        return Score(success - self.options.weight * distance, {"success": success, "distance": distance})
