"""Frame-wise metrics: frame t of the agent against frame t of the reference, over the frames that both have.

One array program for any number of trials, laid end to end, in numpy or in torch on any device. Each group takes
arrays of equal shape `(rows, ...)` and returns values (N,) by name, infinite where there is none. Where the agent's
numbers are not finite (a simulator that diverged), distances are NaN, and such frames are neither within a bound nor
upright.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from proctor.suites.tracking.metrics.segments import (
    Array,
    Segments,
    as_like,
    doubles,
    library,
    squared,
    total,
    width_of,
)
from proctor.suites.tracking.metrics.track import Track, TrackOptions

Values = dict[str, float | None]
Columns = dict[str, Array]

HOST_ROWS, DEVICE_ROWS = 4_096, 1 << 18
"""Frames that are looked at together: what a processor's caches hold, and what keeps a device busy."""
_ARRAYS = tuple(field.name for field in fields(Track))


@dataclass(frozen=True, eq=False)
class Rows:
    """N trials, their common frames end to end: `agent` and `reference` have arrays `(rows, ...)` by their names in a
    `Track`, of one library and on one device. `lengths` (N,) are the frames that both sides have, 1 at least;
    `reference_frames` (N,) those of the whole reference."""

    agent: Mapping[str, Array]
    reference: Mapping[str, Array]
    lengths: np.ndarray
    reference_frames: np.ndarray

    def pair(self, name: str) -> tuple[Array, Array] | None:
        """Both sides' array in double precision; None where one is missing."""
        if name not in self.agent or name not in self.reference:
            return None
        return doubles(self.agent[name]), doubles(self.reference[name])


def frame_metrics(agent: Track, reference: Track, options: TrackOptions) -> Values:
    """Every frame-wise metric whose arrays both tracks have. A frame of the reference that the agent never reached is
    left out of the means, and counts as neither a success nor upright."""
    return frame_metrics_of([(agent, reference)], options)[0]


def frame_metrics_of(
    pairs: Sequence[tuple[Track, Track]], options: TrackOptions, device: str | None = None
) -> list[Values]:
    """`frame_metrics` of every (agent, reference), in order, the same values however many there are. `device`: what
    torch calls the one that computes them, many trials at a time; None: numpy, one after the other, which is quicker
    on a processor, whose caches hold a trial."""
    found: list[Values] = [{} for _ in pairs]
    for group in _alike(pairs, HOST_ROWS if device is None else DEVICE_ROWS):
        rows = _laid_out([pairs[i] for i in group], device)
        for i, values in zip(group, measure(rows, options), strict=True):
            agent, reference = pairs[i]
            n = min(len(agent), len(reference))
            cut = float(max(len(agent), len(reference)) - n)
            found[i] = {**values, "frames_compared": float(n), "frames_cut": cut}
    return found


def _alike(pairs: Sequence[tuple[Track, Track]], most: int) -> list[list[int]]:
    """Positions of pairs that have the same arrays, and about as many frames, so that little is filled up; at most so
    many frames together, or a single trial."""
    groups: dict[Any, list[list[int]]] = {}
    for position, (agent, reference) in enumerate(pairs):
        width = width_of(min(len(agent), len(reference)))
        shapes = tuple((name, a.shape[1:]) for name, a, _ in _shared(agent, reference))
        lists = groups.setdefault((width, shapes), [[]])
        if (len(lists[-1]) + 1) * width > max(most, width):
            lists.append([])
        lists[-1].append(position)
    return [group for lists in groups.values() for group in lists]


def _shared(agent: Track, reference: Track) -> list[tuple[str, np.ndarray, np.ndarray]]:
    both = [(name, getattr(agent, name), getattr(reference, name)) for name in _ARRAYS]
    return [(name, a, r) for name, a, r in both if a is not None and r is not None]


def _laid_out(pairs: Sequence[tuple[Track, Track]], device: str | None) -> Rows:
    lengths = np.array([min(len(agent), len(reference)) for agent, reference in pairs])
    sides: tuple[Columns, Columns] = ({}, {})
    for name, *_ in _shared(*pairs[0]):
        for which, side in enumerate(sides):
            parts = [getattr(pair[which], name)[:n] for pair, n in zip(pairs, lengths, strict=True)]
            side[name] = _placed(parts[0] if len(parts) == 1 else np.concatenate(parts), device)
    return Rows(*sides, lengths, np.array([len(reference) for _, reference in pairs]))


def _placed(array: np.ndarray, device: str | None) -> Array:
    if device is None:
        return array
    import torch

    return torch.tensor(array, device=device)


def measure(rows: Rows, options: TrackOptions) -> list[Values]:
    """The frame-wise metrics of each trial, of the arrays that both sides have, computed where these lie. One copy
    brings all values to the host."""
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        found = _columns(rows, options)
    if not found:
        return [{} for _ in rows.lengths]
    table = library(next(iter(found.values()))).stack(list(found.values()), 1).tolist()
    return [dict(zip(found, [None if math.isinf(value) else value for value in line], strict=True)) for line in table]


def _columns(rows: Rows, options: TrackOptions) -> Columns:
    found: Columns = {}
    pairs = {name: pair for name in _ARRAYS if (pair := rows.pair(name)) is not None}
    if not pairs:
        return found
    segments = Segments(rows.lengths, next(iter(pairs.values()))[0])
    if "joint_pos" in pairs:
        found |= _joints(segments, *pairs["joint_pos"], options)
    if "body_pos" in pairs:
        found |= _bodies(segments, *pairs["body_pos"], rows, options)
    if "observed" in pairs:
        observed = _distances(segments, norms(pairs["observed"][0] - pairs["observed"][1]), options)
        found |= {f"obs_state_{name}": values for name, values in observed.items()}
    if "root_pos" in pairs:
        found["root_pos_error_m"] = segments.means(norms(pairs["root_pos"][0] - pairs["root_pos"][1]))
    if "root_quat" in pairs:
        found["root_rot_error_rad"] = segments.means(rotation_angles(*pairs["root_quat"]))
    if "anchor_quat" in pairs:
        found["torso_rot_error_rad"] = segments.means(rotation_angles(*pairs["anchor_quat"]))
    if "root_pos" in pairs and "anchor_quat" in pairs:
        found |= _posture(segments, pairs["root_pos"], pairs["anchor_quat"], rows, options)
    return found


def norms(vectors: Array) -> Array:
    """Euclidean norm of every row of (rows, D)."""
    return library(vectors).sqrt(squared(vectors))


def _distances(segments: Segments, distance: Array, options: TrackOptions) -> Columns:
    """`distance` and `proximity` of distances (rows,)."""
    xp = library(distance)
    near = xp.clip((options.bound + options.margin - distance) / options.margin, 0.0, 1.0)
    mean = segments.means(distance)
    return {"distance": mean, "proximity": xp.where(xp.isnan(mean), mean, segments.means(near))}


def _joints(segments: Segments, agent: Array, reference: Array, options: TrackOptions) -> Columns:
    """Joint space. The difference of two finite differences is the finite difference of the difference."""
    difference = agent - reference
    distance = norms(difference)
    changes = _changes_of_joints if options.legacy == "bfm_zero" else _changes
    return {
        **_distances(segments, distance, options),
        "mpjpe_l": 1000.0 * segments.means(distance),
        **changes(segments, difference),
    }


def _changes(segments: Segments, difference: Array) -> Columns:
    """Of differences (rows, J), the mean norm of the first and second differences along time."""
    found = {}
    for order, name in ((1, "vel_dist"), (2, "accel_dist")):
        difference = difference[1:] - difference[:-1]
        inner, within = segments.differences(order, difference)
        found[name] = 1000.0 * inner.means(norms(difference)[within])
    return found


def _changes_of_joints(segments: Segments, difference: Array) -> Columns:
    """The same along the joints, as an older evaluator had it."""
    found = {}
    for name, scale in (("vel_dist", 1000.0), ("accel_dist", 100.0)):
        difference = difference[:, 1:] - difference[:, :-1]
        some = difference.shape[1] > 0
        found[name] = scale * segments.means(norms(difference)) if some else segments.nothing(difference)
    return found


def _bodies(segments: Segments, agent: Array, reference: Array, rows: Rows, options: TrackOptions) -> Columns:
    """World space, (rows, B, 3)."""
    difference = agent - reference
    squares = squared(difference)
    xp = library(squares)
    errors = xp.sqrt(squares)
    mean = total(errors) / errors.shape[1]
    whole = _distances(segments, xp.sqrt(total(squares)), options)
    reached = as_like(rows.lengths == rows.reference_frames, squares)

    def success(worst: Array) -> Array:
        return doubles(reached & (worst <= options.success_m))

    return {
        **{f"{name}_xpos": values for name, values in whole.items()},
        "mpjpe_xpos": 1000.0 * segments.means(mean),
        "success_phc_linf_xpos": success(segments.maxima(xp.amax(errors, 1))),
        "success_phc_mean_xpos": success(segments.maxima(mean)),
    }


def rotation_angles(a: Array, b: Array) -> Array:
    """Angle of the rotation between quaternions (rows, 4), from 0 to pi; exactly 0 for equal ones. A quaternion and its
    negative are one rotation."""
    xp, (a, b) = library(a), (_unit(a), _unit(b))
    apart = xp.minimum(norms(a - b), norms(a + b))
    return 4 * xp.arcsin(xp.clip(apart / 2, None, math.sqrt(0.5)))


def _unit(quaternions: Array) -> Array:
    return quaternions / norms(quaternions)[:, None]


def lean(quaternions: Array) -> Array:
    """Angle between the body's z axis and the vertical, from 0 to pi."""
    xp, unit = library(quaternions), _unit(quaternions)
    w, x, y, z = (unit[:, i] for i in range(4))
    return 2 * xp.arctan2(xp.hypot(x, y), xp.hypot(w, z))


def _posture(
    segments: Segments, root: tuple[Array, Array], torso: tuple[Array, Array], rows: Rows, options: TrackOptions
) -> Columns:
    """`upright_share` of the reference's frames, and `first_fall_s`, the time of the first frame that is not upright:
    no value where all that were reached are, and without a clock."""
    upright = is_upright((root[0][:, 2], root[1][:, 2]), torso, options)
    fall = segments.firsts(~upright) * options.dt_s if options.dt_s is not None else segments.nothing(root[0])
    whole = as_like(rows.reference_frames.astype(np.float64), root[0])
    return {"upright_share": segments.counts(upright) / whole, "first_fall_s": fall}


def is_upright(heights: tuple[Array, Array], torso: tuple[Array, Array], options: TrackOptions) -> Array:
    """For every frame (rows,): high enough and not leaning too far, both measured against the reference, so that a
    reference that lies down may be followed to the floor. Pairs are (agent, reference)."""
    xp = library(heights[0])
    high = heights[0] >= xp.minimum(options.height_share * heights[1], heights[1])
    return high & (lean(torso[0]) <= lean(torso[1]) + options.lean_rad)
