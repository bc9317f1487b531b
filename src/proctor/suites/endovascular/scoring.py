"""Scores that weigh success, efficiency, safety and smoothness, each in [0, 1].

A component without its signals is not available: it is None, and its weight is left out of the sum and of the
norm. The total is the weighted sum of what is available, divided by its weights if `normalize_weights`; None
where nothing with a weight is available.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from proctor.record.result import TrialResult
from proctor.scoring.protocol import Score, Scoring, finite


class WeightedScoring(Scoring):
    """Common to `default_v1` and `ranking_v1`."""

    components = ("success", "efficiency", "safety", "smoothness")
    floor: float | None = 0.0

    def rate(self, result: TrialResult) -> Score:
        parts = {
            "success": float(result.success),
            "efficiency": self.efficiency(result),
            "safety": self.safety(result.metrics),
            "smoothness": self.smoothness(result.metrics),
        }
        return Score(self._total(parts), parts)

    def efficiency(self, result: TrialResult) -> float:
        """1 for success at the first step, falling to 0 at the limit; 0 if success never held."""
        if result.steps_to_success is None:
            return 0.0
        return _clip(1 - (result.steps_to_success - 1) / result.max_steps)

    def safety(self, metrics: Mapping[str, float | None]) -> float | None:
        """Falls exponentially with the largest wall force and the largest constraint force; without any force
        signal it is not available (or 1 with `missing_force: perfect`)."""
        names = ("wall_wire_force_norm_max", "wall_collision_force_norm_max")
        forces = [f for f in (finite(metrics.get(name)) for name in names) if f is not None]
        lcp = finite(metrics.get("wall_lcp_max_abs_max"))
        if not forces and lcp is None:
            return 1.0 if self.cfg.missing_force == "perfect" else None
        return _penalty(max(forces, default=0.0), self.cfg.force_scale) * _penalty(lcp or 0.0, self.cfg.lcp_scale)

    def smoothness(self, metrics: Mapping[str, float | None]) -> float | None:
        """Falls exponentially with the largest tip speed."""
        speed = finite(metrics.get("tip_speed_max_mm_s"))
        return None if speed is None else _penalty(speed, self.cfg.speed_scale_mm_s)

    def _total(self, parts: Mapping[str, float | None]) -> float | None:
        weights = {
            "success": self.cfg.w_success,
            "efficiency": self.cfg.w_efficiency,
            "safety": self.cfg.w_safety,
            "smoothness": self.cfg.w_smoothness,
        }
        known = {name: value for name, value in parts.items() if value is not None}
        norm = sum(weights[name] for name in known)
        if norm == 0:
            return None
        weighted = sum(weights[name] * value for name, value in known.items())
        return weighted / norm if self.cfg.normalize_weights else weighted


class DefaultV1(WeightedScoring):
    """Success, efficiency, safety by wall forces, smoothness by the largest tip speed."""

    name, version = "default_v1", "1"


class RankingV1(WeightedScoring):
    """As `default_v1`, but efficiency counts only with success and reaches 0 exactly at the last step, and
    smoothness goes by the tip's jerk (not available without `jerk_scale_mm_s3`)."""

    name, version = "ranking_v1", "1"

    def efficiency(self, result: TrialResult) -> float:
        """1 for success at the first step, 0 at the last one; 0 without success by the task's rule."""
        if not result.success or result.steps_to_success is None:
            return 0.0
        if result.max_steps == 1:
            return 1.0
        return _clip(1 - (result.steps_to_success - 1) / (result.max_steps - 1))

    def smoothness(self, metrics: Mapping[str, float | None]) -> float | None:
        """Falls exponentially with the 95th percentile of the tip's jerk."""
        jerk = finite(metrics.get("tip_jerk_p95_mm_s3"))
        if jerk is None or self.cfg.jerk_scale_mm_s3 is None:
            return None
        return _penalty(jerk, self.cfg.jerk_scale_mm_s3)


def _penalty(value: float, scale: float) -> float:
    """exp(-value / scale); a scale of 0 or less switches the penalty off."""
    return math.exp(-value / scale) if scale > 0 else 1.0


def _clip(value: float) -> float:
    return min(1.0, max(0.0, value))
