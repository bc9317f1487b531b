"""How the tip of a wire moved.

`tip_pos3d` is `(T, 3)` in millimetres, one row per step; velocities are backward differences with
`velocity[0] = 0`, as there is no position before the first step. Speeds need a clock: without `action_dt_s`
they are not available.
"""

from __future__ import annotations

import numpy as np

from proctor.metrics.protocol import Metric
from proctor.metrics.series import LastValue, numbers, reduced_norm
from proctor.record.episode import Episode


def tip_velocity(episode: Episode) -> np.ndarray | None:
    """Tip velocity `(T, 3)` in mm/s; None without steps, without a clock or for positions of another
    shape."""
    position = _tip_position(episode)
    if position is None:
        return None
    return np.diff(position, axis=0, prepend=position[:1]) / episode.dt_s


def _tip_position(episode: Episode) -> np.ndarray | None:
    position = numbers(episode.arrays["tip_pos3d"])
    if position is None or position.ndim != 2 or position.shape[1] != 3 or not len(position):
        return None
    return position if episode.dt_s > 0 else None


class TipSpeedMax(Metric):
    """Largest speed of the tip."""

    name, unit, direction = "tip_speed_max_mm_s", "mm/s", "down"
    needs = ("tip_pos3d",)

    def __call__(self, episode: Episode) -> float | None:
        return reduced_norm(tip_velocity(episode), np.max)


class TipSpeedMean(Metric):
    """Mean speed of the tip over all steps, the first (speed 0) included."""

    name, unit, direction = "tip_speed_mean_mm_s", "mm/s", "none"
    needs = ("tip_pos3d",)

    def __call__(self, episode: Episode) -> float | None:
        return reduced_norm(tip_velocity(episode), np.mean)


class TipJerkP95(Metric):
    """95th percentile of the tip's jerk, the third difference of its position; needs four steps."""

    name, unit, direction = "tip_jerk_p95_mm_s3", "mm/s^3", "down"
    needs = ("tip_pos3d",)

    def __call__(self, episode: Episode) -> float | None:
        position = _tip_position(episode)
        if position is None or len(position) < 4:
            return None
        return reduced_norm(np.diff(position, n=3, axis=0) / episode.dt_s**3, lambda norm: np.percentile(norm, 95))


class PathRatioLast(LastValue):
    """Share of the initial path length that was covered at the end."""

    name, unit, direction = "path_ratio_last", "1", "up"
    needs = ("path_ratio",)


class TrajectoryLengthLast(LastValue):
    """Length of the travelled path at the end."""

    name, unit, direction = "trajectory_length_last", "mm", "down"
    needs = ("trajectory_length",)


class AvgTranslationSpeedLast(LastValue):
    """Average translation speed as the environment reports it at the end."""

    name, unit, direction = "avg_translation_speed_last", "mm/s", "none"
    needs = ("avg_translation_speed",)
