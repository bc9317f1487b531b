"""More than one number: which share of trials exceeds each score, and how often one agent's trial beats another's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from proctor.stats.bootstrap import Estimate, NoInterval, bca_interval, obstacle, same_tasks, stretch
from proctor.stats.intervals import check_level
from proctor.stats.resampling import Pooled, Resampling


@dataclass(frozen=True, eq=False)
class Profile:
    """`shares[k]` of the `n` trials score more than `thresholds[k]`. `low` and `high` are pointwise; None where
    `reason` says why."""

    thresholds: np.ndarray
    shares: np.ndarray
    n: int
    low: np.ndarray | None
    high: np.ndarray | None
    reason: NoInterval | None = None


def performance_profile(
    strata: Sequence[np.ndarray],
    thresholds: np.ndarray,
    level: float = 0.95,
    resampling: Resampling | None = None,
) -> Profile:
    """The share of trials above each threshold, ascending, with a pointwise band of quantiles. Where no trial, or
    every one, is above, the band is Clopper-Pearson's: resamples would give it width 0."""
    check_level(level)
    resampling = resampling or Resampling()
    thresholds = np.asarray(thresholds, dtype=np.float64)
    if np.isnan(thresholds).any() or (np.diff(thresholds) < 0).any():
        raise ValueError("thresholds must ascend and be numbers; sort them first")
    kept = [np.asarray(values, dtype=np.float64) for values in strata if len(values)]
    reason = obstacle([kept], resampling)
    if reason in (NoInterval.NO_VALUES, NoInterval.MISSING):
        return Profile(thresholds, np.full(len(thresholds), np.nan), 0, None, None, reason)
    pooled = Pooled.of(kept)
    rank, ordered = pooled.ranks()
    places = np.searchsorted(ordered, thresholds, side="right")
    shares = 1 - places / len(ordered)
    if reason is not None:
        return Profile(thresholds, shares, len(ordered), None, None, reason)
    from proctor.stats import kernels

    arguments = (resampling.stream_keys(), pooled.offsets, resampling.tasks_too, rank, places)
    samples = resampling.fill((len(places),), len(pooled.values), kernels.shares_above, *arguments)
    tail = (1 - level) / 2
    low, high = np.quantile(samples, [tail, 1 - tail], axis=0)
    edge = 1 - tail ** (1 / len(ordered))
    low = np.where(places == 0, 1 - edge, low)
    return Profile(thresholds, shares, len(ordered), low, np.where(places == len(ordered), edge, high))


def probability_of_improvement(
    a: Sequence[np.ndarray],
    b: Sequence[np.ndarray],
    level: float = 0.95,
    resampling: Resampling | None = None,
) -> Estimate:
    """How likely a trial of a scores above one of b on the same task, ties by half, in the mean over tasks; 0.5 says
    that neither is ahead. Every trial of a meets every one of b, so pairs by seed play no part, and both samples are
    drawn independently."""
    check_level(level)
    resampling = resampling or Resampling()
    left, right = same_tasks(a, b, paired=False)
    n = sum(map(len, left)) + sum(map(len, right))
    missing = int(sum(np.isnan(values).sum() for values in (*left, *right)))
    if missing or not left:
        return Estimate(None, n, None, NoInterval.MISSING if missing else NoInterval.NO_VALUES, missing)
    x, y = Pooled.of(left), Pooled.of(right)
    levels = _levels(left, right)
    value = float(np.mean([_superiority(p, q) for p, q in zip(left, right, strict=True)]))
    reason = obstacle([left, right], resampling)
    if reason is not None:
        return Estimate(value, n, None, reason)
    from proctor.stats import kernels

    keys = (resampling.stream_keys(), resampling.stream_keys(second=True))
    arguments = (*keys, x.offsets, y.offsets, resampling.tasks_too, *levels)
    samples = resampling.fill((), len(x.values) + len(y.values), kernels.improvements, *arguments)
    interval = bca_interval(samples, value, level, 0.0, stretch([*left, *right], resampling))
    return Estimate(value, n, interval, None if interval else NoInterval.CONSTANT, method="BC bootstrap")


def _levels(a: Sequence[np.ndarray], b: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The values numbered in order, jointly and from 0 in every task."""
    numbered = [np.unique(np.concatenate(pair), return_inverse=True)[1] for pair in zip(a, b, strict=True)]
    left = [levels[: len(x)] for levels, x in zip(numbered, a, strict=True)]
    right = [levels[len(x) :] for levels, x in zip(numbered, a, strict=True)]
    return np.concatenate(left).astype(np.int64), np.concatenate(right).astype(np.int64)


def _superiority(x: np.ndarray, y: np.ndarray) -> float:
    """P(x > y) + P(x = y) / 2 of one value each."""
    ordered = np.sort(y)
    below = np.searchsorted(ordered, x, side="left") + np.searchsorted(ordered, x, side="right")
    return float(below.mean() / (2 * len(y)))
