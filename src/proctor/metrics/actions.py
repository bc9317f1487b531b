"""How an agent acted, in any environment."""

from __future__ import annotations

import math

import numpy as np

from proctor.metrics.protocol import Metric
from proctor.metrics.series import reduced_norm
from proctor_host.episode import Episode


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
