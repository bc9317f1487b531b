"""What contact did: wall and constraint forces, in the units of the scene that recorded them.

NaN in a force signal means "not measured in this step" and is left out; a signal that is NaN throughout gives
None, which is not 0. The scalars compare agents on one scene; they are no validated forces.
"""

from __future__ import annotations

from proctor.metrics.protocol import Metric
from proctor.metrics.series import known_values
from proctor.record.episode import Episode

WIRE, COLLISION = "wall_wire_force_norm", "wall_collision_force_norm"
UNIT = "scene force"


def _largest(episode: Episode, name: str) -> float | None:
    values = known_values(episode, name)
    return None if values is None else float(values.max())


def _mean(episode: Episode, name: str) -> float | None:
    values = known_values(episode, name)
    return None if values is None else float(values.mean())


class WallLcpMaxAbsMax(Metric):
    """Largest single constraint force of the contact solver in any step."""

    name, unit, direction = "wall_lcp_max_abs_max", UNIT, "down"
    needs = ("wall_lcp_max_abs",)

    def __call__(self, episode: Episode) -> float | None:
        return _largest(episode, "wall_lcp_max_abs")


class WallLcpSumAbsMean(Metric):
    """Mean over steps of the summed constraint forces of the contact solver."""

    name, unit, direction = "wall_lcp_sum_abs_mean", UNIT, "down"
    needs = ("wall_lcp_sum_abs",)

    def __call__(self, episode: Episode) -> float | None:
        return _mean(episode, "wall_lcp_sum_abs")


class WallWireForceMax(Metric):
    """Largest norm of the forces on the wire."""

    name, unit, direction = "wall_wire_force_norm_max", UNIT, "down"
    needs = (WIRE,)

    def __call__(self, episode: Episode) -> float | None:
        return _largest(episode, WIRE)


class WallWireForceMean(Metric):
    """Mean norm of the forces on the wire."""

    name, unit, direction = "wall_wire_force_norm_mean", UNIT, "down"
    needs = (WIRE,)

    def __call__(self, episode: Episode) -> float | None:
        return _mean(episode, WIRE)


class WallCollisionForceMax(Metric):
    """Largest norm of the forces on the collision model."""

    name, unit, direction = "wall_collision_force_norm_max", UNIT, "down"
    needs = (COLLISION,)

    def __call__(self, episode: Episode) -> float | None:
        return _largest(episode, COLLISION)


class WallCollisionForceMean(Metric):
    """Mean norm of the forces on the collision model."""

    name, unit, direction = "wall_collision_force_norm_mean", UNIT, "down"
    needs = (COLLISION,)

    def __call__(self, episode: Episode) -> float | None:
        return _mean(episode, COLLISION)


class WallForceMax(Metric):
    """The larger of the wire's and the collision model's largest force; one of the two signals is enough."""

    name, unit, direction = "wall_force_max", UNIT, "down"

    def __call__(self, episode: Episode) -> float | None:
        found = [_largest(episode, name) for name in (WIRE, COLLISION) if name in episode.arrays]
        return max((value for value in found if value is not None), default=None)
