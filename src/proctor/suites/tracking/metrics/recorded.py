"""The tracking metrics as metrics of recorded episodes.

A record has `joint_pos`, `body_pos`, `root_pos`, `root_quat`, `anchor_quat` and `observed_joint_pos` with one row per
step, the same names with `first.` (the state before the first step) and with `reference.` (all frames of the
reference); a metric needs all three of each array it reads. A constant `tracking.KEY`, KEY an option of
`TrackOptions`, changes how they are computed. One computation serves all metrics of an episode.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from proctor.metrics.protocol import GroupMetric
from proctor.record.episode import Episode
from proctor.suites.tracking.metrics.evaluate import tracking_metrics
from proctor.suites.tracking.metrics.track import Track, TrackOptions

RECORDED = {
    "joint_pos": "joint_pos",
    "body_pos": "body_pos",
    "root_pos": "root_pos",
    "root_quat": "root_quat",
    "anchor_quat": "anchor_quat",
    "observed": "observed_joint_pos",
}
"""Array of a track -> its name in a record."""


def _arrays(*names: str) -> tuple[str, ...]:
    return tuple(f"{prefix}{RECORDED[name]}" for name in names for prefix in ("", "first.", "reference."))


JOINTS, BODIES, OBSERVED = _arrays("joint_pos"), _arrays("body_pos"), _arrays("observed")
POSTURE = _arrays("root_pos", "anchor_quat")


def episode_tracks(episode: Episode) -> tuple[Track, Track] | None:
    """The agent's and the reference's track of an episode, the first state as frame 0; None where nothing to compare
    was recorded."""
    arrays = episode.arrays
    whole = [name for name in RECORDED if all(array in arrays for array in _arrays(name))]
    if not whole:
        return None
    agent = {name: np.concatenate([arrays[f"first.{(n := RECORDED[name])}"][None], arrays[n]]) for name in whole}
    return Track(**agent), Track(**{name: arrays[f"reference.{RECORDED[name]}"] for name in whole})


def episode_options(episode: Episode) -> TrackOptions:
    """The options that the record asks for, with its clock."""
    given: dict[str, Any] = {"dt_s": episode.dt_s if math.isfinite(episode.dt_s) else None}
    for name in (field.name for field in fields(TrackOptions)):
        if f"tracking.{name}" in episode.arrays:
            given[name] = episode.arrays[f"tracking.{name}"].item()
    return TrackOptions(**given)


class TrackingMetric(GroupMetric):
    """A tracking metric of a recorded episode."""

    @staticmethod
    def together(episode: Episode) -> Mapping[str, float | None]:
        tracks = episode_tracks(episode)
        return {} if tracks is None else tracking_metrics(*tracks, options=episode_options(episode))


class Emd(TrackingMetric):
    """Exact transport distance between the joint positions of all frames, in whatever order they came."""

    name, unit, direction, needs = "emd", "rad", "down", JOINTS


class Distance(TrackingMetric):
    """Mean over frames of the Euclidean norm of the joint position error."""

    name, unit, direction, needs = "distance", "rad", "down", JOINTS


class Proximity(TrackingMetric):
    """Mean over frames of 1 within the bound of 2 rad, falling to 0 at 4 rad of joint distance."""

    name, unit, direction, needs = "proximity", "1", "up", JOINTS


class MpjpeL(TrackingMetric):
    """`distance` in mrad, of the whole joint vector: the name is historic, it is neither a mean over joints nor a
    position."""

    name, unit, direction, needs = "mpjpe_l", "mrad", "down", JOINTS


class VelDist(TrackingMetric):
    """Mean norm of the error of the change of joint positions from frame to frame; two frames at least."""

    name, unit, direction, needs = "vel_dist", "mrad/frame", "down", JOINTS


class AccelDist(TrackingMetric):
    """Mean norm of the error of the second difference of joint positions; three frames at least."""

    name, unit, direction, needs = "accel_dist", "mrad/frame^2", "down", JOINTS


class EmdXpos(TrackingMetric):
    """Exact transport distance between the positions of all tracked bodies, all frames."""

    name, unit, direction, needs = "emd_xpos", "m", "down", BODIES


class DistanceXpos(TrackingMetric):
    """Mean over frames of the Euclidean norm of the error of all body positions together."""

    name, unit, direction, needs = "distance_xpos", "m", "down", BODIES


class ProximityXpos(TrackingMetric):
    """Mean over frames of 1 within the bound of 2 m, falling to 0 at 4 m of body distance."""

    name, unit, direction, needs = "proximity_xpos", "1", "up", BODIES


class MpjpeXpos(TrackingMetric):
    """Mean over bodies and frames of the position error."""

    name, unit, direction, needs = "mpjpe_xpos", "mm", "down", BODIES


class SuccessPhcLinfXpos(TrackingMetric):
    """1 where every body was within 0.5 m of the reference in every frame of it."""

    name, unit, direction, reducer = "success_phc_linf_xpos", "1", "up", "rate"
    needs = BODIES


class SuccessPhcMeanXpos(TrackingMetric):
    """1 where the mean body error was within 0.5 m in every frame of the reference."""

    name, unit, direction, reducer = "success_phc_mean_xpos", "1", "up", "rate"
    needs = BODIES


class ObsStateEmd(TrackingMetric):
    """`emd` of the joint positions as observed, noise included."""

    name, unit, direction, needs = "obs_state_emd", "rad", "down", OBSERVED


class ObsStateDistance(TrackingMetric):
    """`distance` of the joint positions as observed, noise included."""

    name, unit, direction, needs = "obs_state_distance", "rad", "down", OBSERVED


class ObsStateProximity(TrackingMetric):
    """`proximity` of the joint positions as observed, noise included."""

    name, unit, direction, needs = "obs_state_proximity", "1", "up", OBSERVED


class RootPosError(TrackingMetric):
    """Mean distance of the root from where the reference's is."""

    name, unit, direction, needs = "root_pos_error_m", "m", "down", _arrays("root_pos")


class RootRotError(TrackingMetric):
    """Mean angle between the orientation of the root and of the reference's."""

    name, unit, direction, needs = "root_rot_error_rad", "rad", "down", _arrays("root_quat")


class TorsoRotError(TrackingMetric):
    """Mean angle between the orientation of the torso (the anchor body) and of the reference's."""

    name, unit, direction, needs = "torso_rot_error_rad", "rad", "down", _arrays("anchor_quat")


class UprightShare(TrackingMetric):
    """Share of the reference's frames in which the agent was as upright as it: torso leaning at most 45 degrees more,
    root at least half as high."""

    name, unit, direction, needs = "upright_share", "1", "up", POSTURE


class FirstFall(TrackingMetric):
    """Time of the first frame that is not upright; no value where the agent never fell."""

    name, unit, direction, needs = "first_fall_s", "s", "up", POSTURE


class FramesCompared(TrackingMetric):
    """Frames that agent and reference both have: what the frame-wise metrics are of."""

    name, unit, direction, needs = "frames_compared", "frame", "none", JOINTS


class FramesCut(TrackingMetric):
    """Frames that only the longer of the two has."""

    name, unit, direction, needs = "frames_cut", "frame", "down", JOINTS
