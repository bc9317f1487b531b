"""Reading one recorded signal as numbers, and metrics that are one number of one signal: the first that they need;
among them how an agent acted, in any environment."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import ClassVar

import numpy as np

from proctor.metrics.protocol import Metric
from proctor_host.episode import Episode


def numbers(array: np.ndarray) -> np.ndarray | None:
    """The array as float64; None where it does not hold real numbers."""
    return array.astype(np.float64) if array.dtype.kind in "biuf" else None


def scalar_series(episode: Episode, name: str) -> np.ndarray | None:
    """A signal with one number per step as `(T,)`; None where it is anything else."""
    array = numbers(episode.arrays[name])
    if array is None or array.ndim == 0 or array.size != len(array):
        return None
    return array.reshape(-1)


def known_values(episode: Episode, name: str) -> np.ndarray | None:
    """The numbers of a signal with NaN (a sensor that said nothing) left out; None where none is left."""
    series = scalar_series(episode, name)
    if series is None:
        return None
    known = series[~np.isnan(series)]
    return known if known.size else None


def last_value(episode: Episode, name: str) -> float | None:
    """The value after the last step; None without steps or where that value is NaN."""
    series = scalar_series(episode, name)
    if series is None or not series.size or np.isnan(series[-1]):
        return None
    return float(series[-1])


def reduced_norm(vectors: np.ndarray | None, reduce: Callable[[np.ndarray], np.floating]) -> float | None:
    """One number of the Euclidean norms of vectors `(T, k)`, NaN left out; None where none is left."""
    if vectors is None:
        return None
    norm = np.linalg.norm(vectors, axis=1)
    norm = norm[~np.isnan(norm)]
    return float(reduce(norm)) if norm.size else None


class LastValue(Metric):
    """The signal after the last step."""

    def __call__(self, episode: Episode) -> float | None:
        return last_value(episode, self.needs[0])


class ReducedValue(Metric):
    """The largest value of the signal, or its mean over steps, as `reduce` has it; NaN left out."""

    reduce: ClassVar[Callable[[np.ndarray], np.floating]]

    def __call__(self, episode: Episode) -> float | None:
        values = known_values(episode, self.needs[0])
        return None if values is None else float(type(self).reduce(values))


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
        return reduced_norm(np.diff(actions, axis=0), np.mean)


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
