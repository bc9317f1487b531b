"""A scoring and a metric of your own.

    proctor run examples/03_own_scoring.yml

A metric is a pure function of a recorded episode, with a unit; a scoring makes one number of a trial's
result. Both read records only: after a change here, `proctor score RUN` computes all of it anew, and runs
nothing.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from proctor import Episode, Metric, TrialResult
from proctor.metrics import Direction


class TorqueSwitches(Metric):
    """How often the torque changes its sign, per step."""

    name: ClassVar[str] = "torque_switches_per_step"
    unit: ClassVar[str] = "1/step"
    direction: ClassVar[Direction] = "down"
    needs: ClassVar[tuple[str, ...]] = ("actions",)

    def __call__(self, episode: Episode) -> float | None:
        actions = episode.arrays.get("actions")
        if actions is None or len(actions) < 2:
            return None
        signs = np.sign(actions[:, 0])
        return float(np.mean(signs[1:] != signs[:-1]))


def calm(result: TrialResult, worst_return: float, switch_weight: float) -> float | None:
    """1 for a return of 0, 0 for `worst_return` or less, minus a share for a nervous hand."""
    switches = result.metrics["torque_switches_per_step"]
    if result.episode_reward is None or switches is None:
        return None
    return max(0.0, 1.0 - result.episode_reward / worst_return) - switch_weight * switches
