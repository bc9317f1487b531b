"""What contact did: wall and constraint forces, in the units of the scene that recorded them.

NaN in a force signal means "not measured in this step" and is left out; a signal that is NaN throughout gives
None, which is not 0. The scalars compare agents on one scene; they are no validated forces.
"""

from __future__ import annotations

from proctor.metrics.protocol import Metric
from proctor.metrics.series import LargestValue, MeanValue, known_values
from proctor.record.episode import Episode

WIRE, COLLISION = "wall_wire_force_norm", "wall_collision_force_norm"
UNIT = "scene force"


class WallLcpMaxAbsMax(LargestValue):
    """Largest single constraint force of the contact solver in any step."""

    name, unit, direction, needs = "wall_lcp_max_abs_max", UNIT, "down", ("wall_lcp_max_abs",)


class WallLcpSumAbsMean(MeanValue):
    """Mean over steps of the summed constraint forces of the contact solver."""

    name, unit, direction, needs = "wall_lcp_sum_abs_mean", UNIT, "down", ("wall_lcp_sum_abs",)


class WallWireForceMax(LargestValue):
    """Largest norm of the forces on the wire."""

    name, unit, direction, needs = "wall_wire_force_norm_max", UNIT, "down", (WIRE,)


class WallWireForceMean(MeanValue):
    """Mean norm of the forces on the wire."""

    name, unit, direction, needs = "wall_wire_force_norm_mean", UNIT, "down", (WIRE,)


class WallCollisionForceMax(LargestValue):
    """Largest norm of the forces on the collision model."""

    name, unit, direction, needs = "wall_collision_force_norm_max", UNIT, "down", (COLLISION,)


class WallCollisionForceMean(MeanValue):
    """Mean norm of the forces on the collision model."""

    name, unit, direction, needs = "wall_collision_force_norm_mean", UNIT, "down", (COLLISION,)


class WallForceMax(Metric):
    """The larger of the wire's and the collision model's largest force; one of the two signals is enough."""

    name, unit, direction = "wall_force_max", UNIT, "down"

    def __call__(self, episode: Episode) -> float | None:
        found = [known_values(episode, name) for name in (WIRE, COLLISION) if name in episode.arrays]
        return max((float(values.max()) for values in found if values is not None), default=None)
