"""Scores of many trials at once, for the built-in scorings: equal to `Scoring.score`, row by row, to the last bit. The
operations are the same, in the same order, and exponentials are those of `math`."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from proctor.scoring.plain import ReturnScoring, SuccessScoring
from proctor.scoring.protocol import Scoring
from proctor.suites.endovascular.scoring import DefaultV1, RankingV1

FORCES = ("wall_wire_force_norm_max", "wall_collision_force_norm_max")
LCP, SPEED, JERK = "wall_lcp_max_abs_max", "tip_speed_max_mm_s", "tip_jerk_p95_mm_s3"
_WEIGHTED = ("success", "steps_to_success", "max_steps")

Columns = Mapping[str, np.ndarray]
"""Name to floats, NaN where a trial has no value; `broken` is true for trials that the policy broke."""


def bulk_reads(scoring: Scoring) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Columns and metrics that `bulk_totals` reads beside `broken`; None where it does not know the scoring."""
    return {
        SuccessScoring: (("success",), ()),
        ReturnScoring: (("success", "episode_reward"), ()),
        DefaultV1: (_WEIGHTED, (*FORCES, LCP, SPEED)),
        RankingV1: (_WEIGHTED, (*FORCES, LCP, JERK)),
    }.get(type(scoring))


def bulk_totals(scoring: Scoring, columns: Columns) -> np.ndarray:
    """The total of every scored trial, NaN where there is none. Raises TypeError for a scoring that `bulk_reads`
    does not know."""
    return bulk_scores(scoring, columns)[0]


def bulk_scores(scoring: Scoring, columns: Columns) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """As `bulk_totals`, with the components by name."""
    if type(scoring) is SuccessScoring:
        totals, parts = columns["success"], {"success": columns["success"]}
    elif type(scoring) is ReturnScoring:
        totals, parts = columns["episode_reward"], {}
    elif type(scoring) in (DefaultV1, RankingV1):
        parts = {
            "success": columns["success"],
            "efficiency": _efficiency(scoring, columns),
            "safety": _safety(scoring, columns),
            "smoothness": _smoothness(scoring, columns),
        }
        totals = _weighted(scoring, parts)
    else:
        raise TypeError(f"the scoring {scoring.name} is not known column by column")
    broken, floor = columns["broken"], np.nan if scoring.floor is None else scoring.floor
    floors = {name: 0.0 if name == "success" else np.nan for name in parts}
    return _known(np.where(broken, floor, totals)), {
        name: _known(np.where(broken, floors[name], values)) for name, values in parts.items()
    }


def _known(values: np.ndarray) -> np.ndarray:
    return np.where(np.isfinite(values), values, np.nan)


def _weighted(scoring: Scoring, parts: Columns) -> np.ndarray:
    cfg = scoring.cfg
    weights = (cfg.w_success, cfg.w_efficiency, cfg.w_safety, cfg.w_smoothness)
    total, norm = np.zeros(len(parts["success"])), np.zeros(len(parts["success"]))
    for values, weight in zip(parts.values(), weights, strict=True):
        known = ~np.isnan(values)
        total += np.where(known, weight * values, 0.0)
        norm += np.where(known, weight, 0.0)
    share = np.divide(total, norm, out=np.full_like(total, np.nan), where=norm > 0)
    return share if cfg.normalize_weights else np.where(norm > 0, total, np.nan)


def _efficiency(scoring: Scoring, columns: Columns) -> np.ndarray:
    steps, limit = columns["steps_to_success"], columns["max_steps"]
    if type(scoring) is DefaultV1:
        return np.nan_to_num(np.clip(1 - (steps - 1) / limit, 0, 1), nan=0.0)
    span = np.maximum(limit - 1, 1)
    reached = np.where(limit == 1, 1.0, np.clip(1 - (steps - 1) / span, 0, 1))
    return np.where((columns["success"] > 0) & ~np.isnan(steps), reached, 0.0)


def _safety(scoring: Scoring, columns: Columns) -> np.ndarray:
    cfg = scoring.cfg
    forces = np.stack([columns[name] for name in FORCES])
    lcp = columns[LCP]
    unknown = np.isnan(forces).all(axis=0) & np.isnan(lcp)
    largest = np.where(np.isnan(forces), -np.inf, forces).max(axis=0)
    force = np.where(np.isneginf(largest), 0.0, largest)
    safe = _penalty(force, cfg.force_scale) * _penalty(np.nan_to_num(lcp, nan=0.0), cfg.lcp_scale)
    return np.where(unknown, 1.0 if cfg.missing_force == "perfect" else np.nan, safe)


def _smoothness(scoring: Scoring, columns: Columns) -> np.ndarray:
    cfg = scoring.cfg
    if type(scoring) is DefaultV1:
        return _penalty(columns[SPEED], cfg.speed_scale_mm_s)
    if cfg.jerk_scale_mm_s3 is None:
        return np.full(len(columns["success"]), np.nan)
    return _penalty(columns[JERK], cfg.jerk_scale_mm_s3)


def _penalty(values: np.ndarray, scale: float) -> np.ndarray:
    """exp(-value / scale); a scale of 0 or less switches the penalty off for known values."""
    if scale <= 0:
        return np.where(np.isnan(values), np.nan, 1.0)
    if len(values) and (values == values[0]).all():
        return np.full(len(values), math.exp(-values[0] / scale))
    return np.array([math.exp(x) for x in (-values / scale).tolist()])
