"""Frame-wise metrics: frame t of the agent against frame t of the reference, over the frames that both have.

Each group takes arrays of equal shape and returns values by name. Where the agent's numbers are not finite (a
simulator that diverged), distances are NaN, and such frames are neither within a bound nor upright.
"""

from __future__ import annotations

import math

import numpy as np

from proctor.suites.tracking.metrics.track import Track, TrackOptions

Values = dict[str, float | None]


def frame_metrics(agent: Track, reference: Track, options: TrackOptions) -> Values:
    """Every frame-wise metric whose arrays both tracks have. A frame of the reference that the agent never reached is
    left out of the means, and counts as neither a success nor upright."""
    n = min(len(agent), len(reference))
    reached = n == len(reference)
    found: Values = {}
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        if (pair := common(agent.joint_pos, reference.joint_pos, n)) is not None:
            found |= _joints(*pair, options)
        if (pair := common(agent.body_pos, reference.body_pos, n)) is not None:
            found |= _bodies(*pair, options, reached)
        if (pair := common(agent.observed, reference.observed, n)) is not None:
            observed = _distances(_norms(pair[0] - pair[1]), options)
            found |= {f"obs_state_{name}": value for name, value in observed.items()}
        found |= _root_and_torso(agent, reference, n)
        found |= _posture(agent, reference, n, options)
    found["frames_compared"] = float(n)
    found["frames_cut"] = float(max(len(agent), len(reference)) - n)
    return found


def common(a: np.ndarray | None, b: np.ndarray | None, n: int) -> tuple[np.ndarray, np.ndarray] | None:
    """The first n frames of both; None where one is missing."""
    return None if a is None or b is None else (a[:n], b[:n])


def _norms(vectors: np.ndarray) -> np.ndarray:
    """Euclidean norm of every row of (T, D)."""
    return np.sqrt(np.einsum("td,td->t", vectors, vectors))


def _mean(values: np.ndarray, scale: float = 1.0) -> float | None:
    """Mean times scale; None of no values, NaN where one is not finite."""
    if not values.size:
        return None
    mean = float(values.mean())
    return scale * mean if math.isfinite(mean) else math.nan


def _distances(distance: np.ndarray, options: TrackOptions) -> Values:
    """`distance` and `proximity` of distances (T,)."""
    near = np.clip((options.bound + options.margin - distance) / options.margin, 0.0, 1.0)
    mean = _mean(distance)
    return {"distance": mean, "proximity": math.nan if mean is not None and math.isnan(mean) else _mean(near)}


def _joints(agent: np.ndarray, reference: np.ndarray, options: TrackOptions) -> Values:
    """Joint space. The difference of two finite differences is the finite difference of the difference."""
    difference = agent - reference
    norms = _norms(difference)
    legacy = options.legacy == "bfm_zero"
    axis, accel_scale = (1, 100.0) if legacy else (0, 1000.0)
    velocity = np.diff(difference, axis=axis)
    return {
        **_distances(norms, options),
        "mpjpe_l": _mean(norms, 1000.0),
        "vel_dist": _mean(_norms(velocity), 1000.0) if velocity.size else None,
        "accel_dist": _mean(_norms(np.diff(velocity, axis=axis)), accel_scale) if velocity.shape[axis] > 1 else None,
    }


def _bodies(agent: np.ndarray, reference: np.ndarray, options: TrackOptions, reached: bool) -> Values:
    """World space, (T, B, 3)."""
    difference = agent - reference
    squares = np.einsum("tbk,tbk->tb", difference, difference)
    errors = np.sqrt(squares)
    whole = {f"{name}_xpos": value for name, value in _distances(np.sqrt(squares.sum(axis=1)), options).items()}
    return {
        **whole,
        "mpjpe_xpos": _mean(errors, 1000.0),
        "success_phc_linf_xpos": float(reached and errors.max() <= options.success_m),
        "success_phc_mean_xpos": float(reached and errors.mean(axis=1).max() <= options.success_m),
    }


def _root_and_torso(agent: Track, reference: Track, n: int) -> Values:
    found: Values = {}
    if (pair := common(agent.root_pos, reference.root_pos, n)) is not None:
        found["root_pos_error_m"] = _mean(_norms(pair[0] - pair[1]))
    if (pair := common(agent.root_quat, reference.root_quat, n)) is not None:
        found["root_rot_error_rad"] = _mean(rotation_angles(*pair))
    if (pair := common(agent.anchor_quat, reference.anchor_quat, n)) is not None:
        found["torso_rot_error_rad"] = _mean(rotation_angles(*pair))
    return found


def rotation_angles(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Angle of the rotation between quaternions (T, 4), from 0 to pi; exactly 0 for equal ones. A quaternion and its
    negative are one rotation."""
    a, b = _unit(a), _unit(b)
    apart = np.minimum(_norms(a - b), _norms(a + b))
    return 4 * np.arcsin(np.minimum(apart / 2, math.sqrt(0.5)))


def _unit(quaternions: np.ndarray) -> np.ndarray:
    return quaternions / _norms(quaternions)[:, None]


def lean(quaternions: np.ndarray) -> np.ndarray:
    """Angle between the body's z axis and the vertical, from 0 to pi."""
    w, x, y, z = _unit(quaternions).T
    return 2 * np.arctan2(np.hypot(x, y), np.hypot(w, z))


def _posture(agent: Track, reference: Track, n: int, options: TrackOptions) -> Values:
    """`upright_share` of the reference's frames, and `first_fall_s`, the time of the first frame that is not upright:
    None where all that were reached are, and without a clock."""
    root, torso = common(agent.root_pos, reference.root_pos, n), common(agent.anchor_quat, reference.anchor_quat, n)
    if root is None or torso is None:
        return {}
    upright = is_upright((root[0][:, 2], root[1][:, 2]), torso, options)
    down = np.flatnonzero(~upright)
    fall = float(down[0]) * options.dt_s if down.size and options.dt_s is not None else None
    return {"upright_share": float(upright.sum()) / len(reference), "first_fall_s": fall}


def is_upright(
    heights: tuple[np.ndarray, np.ndarray], torso: tuple[np.ndarray, np.ndarray], options: TrackOptions
) -> np.ndarray:
    """For every frame (T,): high enough and not leaning too far, both measured against the reference, so that a
    reference that lies down may be followed to the floor. Pairs are (agent, reference)."""
    high = heights[0] >= np.minimum(options.height_share * heights[1], heights[1])
    return high & (lean(torso[0]) <= lean(torso[1]) + options.lean_rad)
