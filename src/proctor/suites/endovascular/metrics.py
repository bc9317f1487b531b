"""How the tip of a wire moved, and what contact did.

`tip_pos3d` is `(T, 3)` in millimetres, one row per step; velocities are backward differences with
`velocity[0] = 0`, as there is no position before the first step. Speeds need a clock: without `action_dt_s`
they are not available.

Wall and constraint forces are in the units of the scene that recorded them. NaN in a force signal means "not measured
in this step" and is left out; a signal that is NaN throughout gives None, which is not 0. The scalars compare agents on
one scene; they are no validated forces.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from proctor.metrics.protocol import Metric, metric_class
from proctor.metrics.series import LastValue, ReducedValue, known_values, numbers, reduced_norm
from proctor_host.episode import Episode


def tip_velocity(episode: Episode) -> np.ndarray | None:
    """Tip velocity `(T, 3)` in mm/s; None without steps, without a clock or for positions of another
    shape."""
    position = _tip_position(episode)
    if position is None:
        return None
    return np.diff(position, axis=0, prepend=position[:1]) / episode.dt_s


def _tip_position(episode: Episode) -> np.ndarray | None:
    position = numbers(episode.arrays["tip_pos3d"])
    if position is None or position.ndim != 2 or position.shape[1] != 3 or not len(position):
        return None
    return position if episode.dt_s > 0 else None


class TipSpeedMax(Metric):
    """Largest speed of the tip."""

    name, unit, direction = "tip_speed_max_mm_s", "mm/s", "down"
    needs = ("tip_pos3d",)

    def __call__(self, episode: Episode) -> float | None:
        return reduced_norm(tip_velocity(episode), np.max)


class TipSpeedMean(Metric):
    """Mean speed of the tip over all steps, the first (speed 0) included."""

    name, unit, direction = "tip_speed_mean_mm_s", "mm/s", "none"
    needs = ("tip_pos3d",)

    def __call__(self, episode: Episode) -> float | None:
        return reduced_norm(tip_velocity(episode), np.mean)


class TipJerkP95(Metric):
    """95th percentile of the tip's jerk, the third difference of its position; needs four steps."""

    name, unit, direction = "tip_jerk_p95_mm_s3", "mm/s^3", "down"
    needs = ("tip_pos3d",)

    def __call__(self, episode: Episode) -> float | None:
        position = _tip_position(episode)
        if position is None or len(position) < 4:
            return None
        return reduced_norm(np.diff(position, n=3, axis=0) / episode.dt_s**3, lambda norm: np.percentile(norm, 95))


LAST = SimpleNamespace(
    **{
        f"{signal}_last": metric_class(
            LastValue, doc, name=f"{signal}_last", unit=unit, direction=direction, needs=(signal,)
        )
        for signal, unit, direction, doc in (
            ("path_ratio", "1", "up", "Share of the initial path length that was covered at the end."),
            ("trajectory_length", "mm", "down", "Length of the travelled path at the end."),
            ("avg_translation_speed", "mm/s", "none",
             "Average translation speed as the environment reports it at the end."),
        )
    }
)  # fmt: skip
"""The metrics that are the last value of one signal, by name."""

WIRE, COLLISION = "wall_wire_force_norm", "wall_collision_force_norm"
UNIT = "scene force"

SIGNALS = SimpleNamespace(
    **{
        name: metric_class(ReducedValue, doc, name=name, unit=UNIT, direction="down", needs=(signal,), reduce=reduce)
        for name, reduce, signal, doc in (
            ("wall_lcp_max_abs_max", np.max, "wall_lcp_max_abs",
             "Largest single constraint force of the contact solver in any step."),
            ("wall_lcp_sum_abs_mean", np.mean, "wall_lcp_sum_abs",
             "Mean over steps of the summed constraint forces of the contact solver."),
            (f"{WIRE}_max", np.max, WIRE, "Largest norm of the forces on the wire."),
            (f"{WIRE}_mean", np.mean, WIRE, "Mean norm of the forces on the wire."),
            (f"{COLLISION}_max", np.max, COLLISION, "Largest norm of the forces on the collision model."),
            (f"{COLLISION}_mean", np.mean, COLLISION, "Mean norm of the forces on the collision model."),
        )
    }
)  # fmt: skip
"""The metrics that are one number of one signal, by name."""


class WallForceMax(Metric):
    """The larger of the wire's and the collision model's largest force; one of the two signals is enough."""

    name, unit, direction = "wall_force_max", UNIT, "down"

    def __call__(self, episode: Episode) -> float | None:
        found = [known_values(episode, name) for name in (WIRE, COLLISION) if name in episode.arrays]
        return max((float(values.max()) for values in found if values is not None), default=None)
