"""`tracking_v1`: how well a motion was reproduced, from 0 to 1.

Joint-space error alone does not see a robot that moves its joints on the floor, so the score also asks where the bodies
were and whether the robot stood:

    pose     exp(-emd / emd_scale)                  emd_scale 0.75 rad        weight 2
    place    exp(-mpjpe_xpos / place_scale_mm)      place_scale_mm 500 mm     weight 1
    upright  upright_share                                                    weight 1

The total is the weighted mean of what is available. A metric that was not recorded is dropped together with its weight.
One that was recorded and has no value (the agent's numbers are not finite) counts as 0.
"""

from __future__ import annotations

import math

import numpy as np
from pydantic import Field

from proctor.scoring.columns import ColumnScoring, Scores, TrialColumns, decay, weighted_sum
from proctor.scoring.protocol import ScoringOptions


class TrackingV1Options(ScoringOptions):
    """`scoring.options` of `tracking_v1`."""

    emd_scale: float = Field(default=0.75, gt=0)
    """EMD in rad at which `pose` is 1/e."""
    place_scale_mm: float = Field(default=500.0, gt=0)
    """Mean body error in mm at which `place` is 1/e."""
    w_pose: float = Field(default=2.0, ge=0)
    w_place: float = Field(default=1.0, ge=0)
    w_upright: float = Field(default=1.0, ge=0)


class TrackingV1(ColumnScoring):
    """Pose by transport distance, place by body positions, and the share of frames upright."""

    name, version = "tracking_v1", "1"
    Options = TrackingV1Options
    components = ("pose", "place", "upright")
    floor: float | None = 0.0
    metrics = ("emd", "mpjpe_xpos", "upright_share")
    options: TrackingV1Options

    @property
    def limits(self) -> tuple[float, float]:
        return 0.0, 1.0

    def rate_columns(self, trials: TrialColumns) -> Scores:
        options = self.options
        parts = {
            "pose": _reached(trials, "emd", decay(trials.metric("emd"), options.emd_scale)),
            "place": _reached(trials, "mpjpe_xpos", decay(trials.metric("mpjpe_xpos"), options.place_scale_mm)),
            "upright": _reached(trials, "upright_share", trials.metric("upright_share")),
        }
        weights = {"pose": options.w_pose, "place": options.w_place, "upright": options.w_upright}
        return Scores.of(weighted_sum(parts, weights, normalize=True), parts)


def _reached(trials: TrialColumns, metric: str, closeness: np.ndarray) -> np.ndarray:
    """Not available where the metric was not recorded, 0 where it was and has no value."""
    return np.where(trials.recorded(metric), np.nan_to_num(closeness, nan=0.0), math.nan)
