"""How an agent moved: of its actions (any environment) and of a tracked tip.

`tip_pos3d` is `(T, 3)` in millimetres, one row per step; velocities are backward differences with
`velocity[0] = 0`, as there is no position before the first step. Speeds need a clock: without `action_dt_s`
they are not available.
"""

from __future__ import annotations

import math

import numpy as np

from proctor.metrics.protocol import Metric
from proctor.metrics.series import last_value, numbers
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


def _reduce_norm(vectors: np.ndarray | None, reduce: str) -> float | None:
    if vectors is None:
        return None
    norm = np.linalg.norm(vectors, axis=1)
    norm = norm[~np.isnan(norm)]
    if not norm.size:
        return None
    return {"max": norm.max, "mean": norm.mean, "p95": lambda: np.percentile(norm, 95)}[reduce]().item()


class TipSpeedMax(Metric):
    """Largest speed of the tip."""

    name, unit, direction = "tip_speed_max_mm_s", "mm/s", "down"
    needs = ("tip_pos3d",)

    def __call__(self, episode: Episode) -> float | None:
        return _reduce_norm(tip_velocity(episode), "max")


class TipSpeedMean(Metric):
    """Mean speed of the tip over all steps, the first (speed 0) included."""

    name, unit, direction = "tip_speed_mean_mm_s", "mm/s", "none"
    needs = ("tip_pos3d",)

    def __call__(self, episode: Episode) -> float | None:
        return _reduce_norm(tip_velocity(episode), "mean")


class TipJerkP95(Metric):
    """95th percentile of the tip's jerk, the third difference of its position; needs four steps."""

    name, unit, direction = "tip_jerk_p95_mm_s3", "mm/s^3", "down"
    needs = ("tip_pos3d",)

    def __call__(self, episode: Episode) -> float | None:
        position = _tip_position(episode)
        if position is None or len(position) < 4:
            return None
        return _reduce_norm(np.diff(position, n=3, axis=0) / episode.dt_s**3, "p95")


class PathRatioLast(Metric):
    """Share of the initial path length that was covered at the end."""

    name, unit, direction = "path_ratio_last", "1", "up"
    needs = ("path_ratio",)

    def __call__(self, episode: Episode) -> float | None:
        return last_value(episode, "path_ratio")


class TrajectoryLengthLast(Metric):
    """Length of the travelled path at the end."""

    name, unit, direction = "trajectory_length_last", "mm", "down"
    needs = ("trajectory_length",)

    def __call__(self, episode: Episode) -> float | None:
        return last_value(episode, "trajectory_length")


class AvgTranslationSpeedLast(Metric):
    """Average translation speed as the environment reports it at the end."""

    name, unit, direction = "avg_translation_speed_last", "mm/s", "none"
    needs = ("avg_translation_speed",)

    def __call__(self, episode: Episode) -> float | None:
        return last_value(episode, "avg_translation_speed")


def _float_actions(episode: Episode) -> np.ndarray | None:
    """Actions `(T, A)`; None unless they are floating-point numbers."""
    actions = episode.arrays["actions"]
    if not np.issubdtype(actions.dtype, np.floating):
        return None
    return actions.reshape(len(actions), math.prod(actions.shape[1:])).astype(np.float64)


class ActionRateMean(Metric):
    """Mean Euclidean norm of the change of the action from step to step; floating-point actions, two steps at
    least."""

    name, unit, direction = "action_rate_mean", "action/step", "down"
    needs = ("actions",)

    def __call__(self, episode: Episode) -> float | None:
        actions = _float_actions(episode)
        if actions is None or len(actions) < 2:
            return None
        return _reduce_norm(np.diff(actions, axis=0), "mean")


class ActionAbsMax(Metric):
    """Largest absolute entry of any action; floating-point actions only."""

    name, unit, direction = "action_abs_max", "action", "none"
    needs = ("actions",)

    def __call__(self, episode: Episode) -> float | None:
        actions = _float_actions(episode)
        if actions is None:
            return None
        actions = actions[~np.isnan(actions)]
        return float(np.abs(actions).max()) if actions.size else None
