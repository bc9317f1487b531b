"""Scores that weigh success, efficiency, safety and smoothness, each in [0, 1].

A component without its signals is not available: it is None, and its weight is left out of the sum and of the
norm. The total is the weighted sum of what is available, divided by its weights if `normalize_weights`; None
where nothing with a weight is available.
"""

from __future__ import annotations

import abc
import math
from typing import Any, Literal

import numpy as np
from pydantic import Field

from proctor.scoring.columns import ColumnScoring, Scores, TrialColumns, decay, weighted_sum
from proctor.scoring.protocol import ScoringOptions

FORCES = ("wall_wire_force_norm_max", "wall_collision_force_norm_max")
LCP, SPEED, JERK = "wall_lcp_max_abs_max", "tip_speed_max_mm_s", "tip_jerk_p95_mm_s3"


class WeightedOptions(ScoringOptions):
    """Weights of the components and scales of the penalties; a scale of 0 or less switches its penalty off."""

    w_success: float = Field(default=2.0, ge=0)
    w_efficiency: float = Field(default=1.0, ge=0)
    w_safety: float = Field(default=1.0, ge=0)
    w_smoothness: float = Field(default=0.25, ge=0)
    normalize_weights: bool = True
    """Divide by the sum of the weights that were used."""
    force_scale: float = 1.0
    lcp_scale: float = 1.0
    missing_force: Literal["drop", "perfect"] = "drop"
    """Without any force signal: leave safety out, or count it as 1."""


class DefaultV1Options(WeightedOptions):
    """`scoring.options` of `default_v1`."""

    speed_scale_mm_s: float = 50.0


class DefaultV2Options(DefaultV1Options):
    """`scoring.options` of `default_v2`."""

    force_scale: float = 0.2
    lcp_scale: float = 0.2


class RankingV1Options(WeightedOptions):
    """`scoring.options` of `ranking_v1`."""

    jerk_scale_mm_s3: float | None = None
    """None: smoothness is not available."""


class WeightedScoring(ColumnScoring):
    """Common to `default_v1`, `default_v2` and `ranking_v1`."""

    components = ("success", "efficiency", "safety", "smoothness")
    floor: float | None = 0.0
    fields = ("success", "steps_to_success", "first_success", "max_steps")
    options: Any

    @property
    def limits(self) -> tuple[float, float] | None:
        """None where a weight is negative."""
        weights = [getattr(self.options, f"w_{name}") for name in self.components]
        if min(weights) < 0:
            return None
        return 0.0, 1.0 if self.options.normalize_weights else float(sum(weights))

    def rate_columns(self, trials: TrialColumns) -> Scores:
        options = self.options
        parts = {
            "success": trials.number("success"),
            "efficiency": self.efficiency(trials),
            "safety": self.safety(trials),
            "smoothness": self.smoothness(trials),
        }
        weights = {name: getattr(options, f"w_{name}") for name in parts}
        return Scores.of(weighted_sum(parts, weights, normalize=options.normalize_weights), parts)

    @abc.abstractmethod
    def efficiency(self, trials: TrialColumns) -> np.ndarray:
        """1 for success at the first step, falling to 0 towards the limit."""

    @abc.abstractmethod
    def smoothness(self, trials: TrialColumns) -> np.ndarray:
        """1 for a tip at rest, falling to 0."""

    def safety(self, trials: TrialColumns) -> np.ndarray:
        """Falls exponentially with the largest wall force and the largest constraint force; without any force
        signal it is not available (or 1 with `missing_force: perfect`)."""
        forces, lcp = np.stack([trials.metric(name) for name in FORCES]), trials.metric(LCP)
        unknown = np.isnan(forces).all(axis=0) & np.isnan(lcp)
        largest = np.where(np.isnan(forces), -np.inf, forces).max(axis=0)
        force = np.where(np.isneginf(largest), 0.0, largest)
        safe = decay(force, self.options.force_scale) * decay(np.nan_to_num(lcp, nan=0.0), self.options.lcp_scale)
        return np.where(unknown, 1.0 if self.options.missing_force == "perfect" else math.nan, safe)


class DefaultV1(WeightedScoring):
    """Success, efficiency, safety by wall forces, smoothness by the largest tip speed."""

    name, version = "default_v1", "1"
    Options = DefaultV1Options
    metrics = (*FORCES, LCP, SPEED)

    def efficiency(self, trials: TrialColumns) -> np.ndarray:
        """1 - (k - 1) / limit for success at step k, whether it lasted or not; 0 if success never held."""
        steps, limit = trials.number("first_success"), trials.number("max_steps")
        return np.nan_to_num(np.clip(1 - (steps - 1) / limit, 0, 1), nan=0.0)

    def smoothness(self, trials: TrialColumns) -> np.ndarray:
        """Falls exponentially with the largest tip speed."""
        return decay(trials.metric(SPEED), self.options.speed_scale_mm_s)


class DefaultV2(DefaultV1):
    """As `default_v1`, with scales for forces in newtons: what wires in arches press with, some hundredths to some
    tenths, gets different scores."""

    name, version = "default_v2", "1"
    Options = DefaultV2Options


class RankingV1(WeightedScoring):
    """As `default_v1`, but efficiency counts only with success and reaches 0 exactly at the last step, and
    smoothness goes by the tip's jerk (not available without `jerk_scale_mm_s3`)."""

    name, version = "ranking_v1", "1"
    Options = RankingV1Options
    metrics = (*FORCES, LCP, JERK)

    def efficiency(self, trials: TrialColumns) -> np.ndarray:
        """1 for success at the first step, 0 at the last one; 0 without success by the task's rule."""
        steps, limit = trials.number("steps_to_success"), trials.number("max_steps")
        reached = np.where(limit == 1, 1.0, np.clip(1 - (steps - 1) / np.maximum(limit - 1, 1), 0, 1))
        return np.where((trials.number("success") > 0) & ~np.isnan(steps), reached, 0.0)

    def smoothness(self, trials: TrialColumns) -> np.ndarray:
        """Falls exponentially with the 95th percentile of the tip's jerk."""
        if self.options.jerk_scale_mm_s3 is None:
            return np.full(len(trials), math.nan)
        return decay(trials.metric(JERK), self.options.jerk_scale_mm_s3)
