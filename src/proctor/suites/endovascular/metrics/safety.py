"""What contact did: wall and constraint forces, in the units of the scene that recorded them.

NaN in a force signal means "not measured in this step" and is left out; a signal that is NaN throughout gives
None, which is not 0. The scalars compare agents on one scene; they are no validated forces.
"""

from __future__ import annotations

from types import SimpleNamespace

from proctor.metrics.protocol import Metric, metric_class
from proctor.metrics.series import LargestValue, MeanValue, known_values
from proctor_host.episode import Episode

WIRE, COLLISION = "wall_wire_force_norm", "wall_collision_force_norm"
UNIT = "scene force"


SIGNALS = SimpleNamespace(
    **{
        name: metric_class(base, doc, name=name, unit=UNIT, direction="down", needs=(signal,))
        for name, base, signal, doc in (
            ("wall_lcp_max_abs_max", LargestValue, "wall_lcp_max_abs",
             "Largest single constraint force of the contact solver in any step."),
            ("wall_lcp_sum_abs_mean", MeanValue, "wall_lcp_sum_abs",
             "Mean over steps of the summed constraint forces of the contact solver."),
            (f"{WIRE}_max", LargestValue, WIRE, "Largest norm of the forces on the wire."),
            (f"{WIRE}_mean", MeanValue, WIRE, "Mean norm of the forces on the wire."),
            (f"{COLLISION}_max", LargestValue, COLLISION, "Largest norm of the forces on the collision model."),
            (f"{COLLISION}_mean", MeanValue, COLLISION, "Mean norm of the forces on the collision model."),
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
