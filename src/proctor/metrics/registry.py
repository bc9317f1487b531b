"""The metrics that are computed of every episode: the built-in ones, those of installed packages (entry
points of the group `proctor.metrics`), and a user's own by import string."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from proctor.errors import InputError
from proctor.metrics.protocol import GroupMetric, Metric
from proctor.metrics.terms import PAID, last_terms, term_of
from proctor.record.episode import Episode
from proctor.registry import Registry, import_object

_MOTION, _SAFETY = "proctor.metrics.motion", "proctor.suites.endovascular.metrics.safety"
_TRACKING = "proctor.suites.tracking.metrics.recorded"

METRICS = Registry(
    "metric",
    "proctor.metrics",
    {
        "path_ratio_last": f"{_MOTION}:PathRatioLast",
        "trajectory_length_last": f"{_MOTION}:TrajectoryLengthLast",
        "avg_translation_speed_last": f"{_MOTION}:AvgTranslationSpeedLast",
        "tip_speed_max_mm_s": f"{_MOTION}:TipSpeedMax",
        "tip_speed_mean_mm_s": f"{_MOTION}:TipSpeedMean",
        "tip_jerk_p95_mm_s3": f"{_MOTION}:TipJerkP95",
        "action_rate_mean": f"{_MOTION}:ActionRateMean",
        "action_abs_max": f"{_MOTION}:ActionAbsMax",
        "wall_lcp_max_abs_max": f"{_SAFETY}:WallLcpMaxAbsMax",
        "wall_lcp_sum_abs_mean": f"{_SAFETY}:WallLcpSumAbsMean",
        "wall_wire_force_norm_max": f"{_SAFETY}:WallWireForceMax",
        "wall_wire_force_norm_mean": f"{_SAFETY}:WallWireForceMean",
        "wall_collision_force_norm_max": f"{_SAFETY}:WallCollisionForceMax",
        "wall_collision_force_norm_mean": f"{_SAFETY}:WallCollisionForceMean",
        "wall_force_max": f"{_SAFETY}:WallForceMax",
        "emd": f"{_TRACKING}:Emd",
        "distance": f"{_TRACKING}:Distance",
        "proximity": f"{_TRACKING}:Proximity",
        "mpjpe_l": f"{_TRACKING}:MpjpeL",
        "vel_dist": f"{_TRACKING}:VelDist",
        "accel_dist": f"{_TRACKING}:AccelDist",
        "emd_xpos": f"{_TRACKING}:EmdXpos",
        "distance_xpos": f"{_TRACKING}:DistanceXpos",
        "proximity_xpos": f"{_TRACKING}:ProximityXpos",
        "mpjpe_xpos": f"{_TRACKING}:MpjpeXpos",
        "success_phc_linf_xpos": f"{_TRACKING}:SuccessPhcLinfXpos",
        "success_phc_mean_xpos": f"{_TRACKING}:SuccessPhcMeanXpos",
        "obs_state_emd": f"{_TRACKING}:ObsStateEmd",
        "obs_state_distance": f"{_TRACKING}:ObsStateDistance",
        "obs_state_proximity": f"{_TRACKING}:ObsStateProximity",
        "root_pos_error_m": f"{_TRACKING}:RootPosError",
        "root_rot_error_rad": f"{_TRACKING}:RootRotError",
        "torso_rot_error_rad": f"{_TRACKING}:TorsoRotError",
        "upright_share": f"{_TRACKING}:UprightShare",
        "first_fall_s": f"{_TRACKING}:FirstFall",
        "frames_compared": f"{_TRACKING}:FramesCompared",
        "frames_cut": f"{_TRACKING}:FramesCut",
    },
)


_Groups = dict[Callable[[Episode], Mapping[str, float | None]], Mapping[str, float | None]]
"""What metrics computed together gave for one episode."""


class MetricInfo(NamedTuple):
    name: str
    unit: str
    direction: str
    reducer: str
    doc: str


@functools.lru_cache(maxsize=32)
def find_metrics(extra: tuple[str, ...] = (), base: Path | None = None) -> tuple[Metric, ...]:
    """All metrics, the registered ones first. `extra` are import strings, looked up under `base`; an unknown
    one, one that is no Metric, and a name used twice are refused."""
    metrics: dict[str, Metric] = {}
    for target in (*METRICS.names(), *extra):
        found = METRICS.load(target) if ":" not in target else import_object(target, base)
        if not (isinstance(found, type) and issubclass(found, Metric)):
            raise InputError(f'"{target}" is {found!r}, not a subclass of proctor.metrics.Metric')
        metric = found()
        if metric.name in metrics:
            raise InputError(f'two metrics are called "{metric.name}"; give the one in {target} another name')
        metrics[metric.name] = metric
    return tuple(metrics.values())


def compute(episode: Episode, extra: tuple[str, ...] = (), base: Path | None = None) -> dict[str, float | None]:
    """The value of every metric whose arrays are in the record, by name; None where it has none for this
    episode. Metrics whose arrays are missing are left out. The last values of reward terms are among them."""
    values: dict[str, float | None] = {}
    groups: _Groups = {}
    for metric in find_metrics(extra, base):
        if all(name in episode.arrays for name in metric.needs):
            values[metric.name] = _value(metric, episode, groups)
    return {**values, **last_terms(episode)}


def _value(metric: Metric, episode: Episode, groups: _Groups) -> float | None:
    try:
        if isinstance(metric, GroupMetric):
            if metric.together not in groups:
                groups[metric.together] = metric.together(episode)
            value = groups[metric.together].get(metric.name)
        else:
            value = metric(episode)
        number = None if value is None else float(value)
    except Exception as error:
        raise InputError(
            f'the metric "{metric.name}" failed on an episode of {episode.n_steps} steps: '
            f"{type(error).__name__}: {error}"
        ) from error
    return None if number is None or math.isnan(number) else number


def describe(extra: tuple[str, ...] = (), base: Path | None = None) -> list[MetricInfo]:
    """Name, unit, direction, reducer and a sentence on every metric."""
    return [
        MetricInfo(m.name, m.unit, m.direction, m.reducer, " ".join((type(m).__doc__ or "").split()))
        for m in find_metrics(extra, base)
    ]


def describe_term(name: str) -> MetricInfo | None:
    """The same of the last value of a reward term; None for any other name."""
    if name == PAID:
        return MetricInfo(name, "reward", "up", "mean", "What the task's evaluation function paid on the last step.")
    term = term_of(name)
    return None if term is None else MetricInfo(name, "1", "none", "mean", f"The raw term {term} on the last step.")
