"""The tracking metrics as metrics of recorded episodes.

A record has `joint_pos`, `body_pos`, `root_pos`, `root_quat`, `anchor_quat` and `observed_joint_pos` with one row per
step, the same names with `first.` (the state before the first step) and with `reference.` (all frames of the
reference); a metric needs all three of each array it reads. A constant `tracking.KEY`, KEY an option of
`TrackOptions`, changes how they are computed. One computation serves all metrics of an episode.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields
from types import SimpleNamespace
from typing import Any

import numpy as np

from proctor.metrics.protocol import Direction, GroupMetric, metric_class
from proctor.suites.tracking.metrics.evaluate import Pair, evaluate_tracks
from proctor.suites.tracking.metrics.track import Track, TrackOptions
from proctor_host.episode import Episode

RECORDED = {field.name: field.name for field in fields(Track)} | {"observed": "observed_joint_pos"}
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
    """A tracking metric of a recorded episode. Transport takes long, and leaves the interpreter free."""

    beside = True

    @staticmethod
    def together(episode: Episode) -> Mapping[str, float | None]:
        return TrackingMetric.together_many([episode])[0]

    @classmethod
    def together_many(cls, episodes: Sequence[Episode]) -> Sequence[Mapping[str, float | None]]:
        """Those that are compared alike go through one computation, on all cores."""
        found: list[Mapping[str, float | None]] = [{} for _ in episodes]
        alike: dict[TrackOptions, list[tuple[int, Pair]]] = {}
        for row, episode in enumerate(episodes):
            if (tracks := episode_tracks(episode)) is not None:
                alike.setdefault(episode_options(episode), []).append((row, tracks))
        for options, some in alike.items():
            values = evaluate_tracks([tracks for _, tracks in some], options=options)
            for (row, _), one in zip(some, values, strict=True):
                found[row] = one
        return found


_TABLE: tuple[tuple[str, str, Direction, tuple[str, ...], str], ...] = (
    ("emd", "rad", "down", JOINTS,
     "Exact transport distance between the joint positions of all frames, in whatever order they came."),
    ("distance", "rad", "down", JOINTS, "Mean over frames of the Euclidean norm of the joint position error."),
    ("proximity", "1", "up", JOINTS,
     "Mean over frames of 1 within the bound of 2 rad, falling to 0 at 4 rad of joint distance."),
    ("mpjpe_l", "mrad", "down", JOINTS,
     "`distance` in mrad, of the whole joint vector: the name is historic, it is neither a mean over joints nor a "
     "position."),
    ("vel_dist", "mrad/frame", "down", JOINTS,
     "Mean norm of the error of the change of joint positions from frame to frame; two frames at least."),
    ("accel_dist", "mrad/frame^2", "down", JOINTS,
     "Mean norm of the error of the second difference of joint positions; three frames at least."),
    ("emd_xpos", "m", "down", BODIES,
     "Exact transport distance between the positions of all tracked bodies, all frames."),
    ("distance_xpos", "m", "down", BODIES,
     "Mean over frames of the Euclidean norm of the error of all body positions together."),
    ("proximity_xpos", "1", "up", BODIES,
     "Mean over frames of 1 within the bound of 2 m, falling to 0 at 4 m of body distance."),
    ("mpjpe_xpos", "mm", "down", BODIES, "Mean over bodies and frames of the position error."),
    ("success_phc_linf_xpos", "1", "up", BODIES,
     "1 where every body was within 0.5 m of the reference in every frame of it."),
    ("success_phc_mean_xpos", "1", "up", BODIES,
     "1 where the mean body error was within 0.5 m in every frame of the reference."),
    ("obs_state_emd", "rad", "down", OBSERVED, "`emd` of the joint positions as observed, noise included."),
    ("obs_state_distance", "rad", "down", OBSERVED, "`distance` of the joint positions as observed, noise included."),
    ("obs_state_proximity", "1", "up", OBSERVED, "`proximity` of the joint positions as observed, noise included."),
    ("root_pos_error_m", "m", "down", _arrays("root_pos"), "Mean distance of the root from where the reference's is."),
    ("root_rot_error_rad", "rad", "down", _arrays("root_quat"),
     "Mean angle between the orientation of the root and of the reference's."),
    ("torso_rot_error_rad", "rad", "down", _arrays("anchor_quat"),
     "Mean angle between the orientation of the torso (the anchor body) and of the reference's."),
    ("upright_share", "1", "up", POSTURE,
     "Share of the reference's frames in which the agent was as upright as it: torso leaning at most 45 degrees "
     "more, root at least half as high."),
    ("first_fall_s", "s", "up", POSTURE,
     "Time of the first frame that is not upright; no value where the agent never fell."),
    ("frames_compared", "frame", "none", JOINTS,
     "Frames that agent and reference both have: what the frame-wise metrics are of."),
    ("frames_cut", "frame", "down", JOINTS, "Frames that only the longer of the two has."),
)  # fmt: skip
"""Name, unit, direction, arrays and meaning of each."""


def _metric(name: str, unit: str, direction: Direction, needs: tuple[str, ...], doc: str) -> type[TrackingMetric]:
    reducer = "rate" if name.startswith("success") else "mean"
    return metric_class(TrackingMetric, doc, name=name, unit=unit, direction=direction, reducer=reducer, needs=needs)


METRICS = SimpleNamespace(**{row[0]: _metric(*row) for row in _TABLE})
"""The metric classes by name."""
