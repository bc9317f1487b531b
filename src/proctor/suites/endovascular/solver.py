"""The compiled entry of the rod solver: `advance`, which calls what `kernel` has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from proctor.kernels import checksum
from proctor.suites.endovascular.kernel import compiled, free_nodes, inner, substep
from proctor.suites.endovascular.rod import ANGLE, DEPTH_MAX, ITERATIONS, LENGTH, SETPOINT, TORQUE, UNSETTLED

FADE = 0.1
"""The share of the torque limit over which the commanded turning speed fades."""


@compiled()
def depth(state, free):
    """How deep in the wall the deepest node is, mm; NaN where a position is not finite."""
    deepest = -np.inf
    for j in range(free):
        if not np.isfinite(state.x[j, 0] + state.x[j, 1] + state.x[j, 2]):
            return np.nan
        deepest = max(deepest, state.contact[j, 4])
    return deepest


@inner()
def turned(law, sheath, status, spin):
    """By how much a handle that turns with `spin` (rad/s) turns in a substep: less near the largest torque."""
    ahead = status[TORQUE] if spin > 0 else -status[TORQUE]
    fade = min(max((sheath.max_torque - ahead) / (FADE * sheath.max_torque), 0.0), 1.0)
    return law.dt * spin * fade


@inner()
def forget(state, status):
    """Begin a control step: nothing has been counted."""
    status[DEPTH_MAX], status[ITERATIONS], status[UNSETTLED] = 0.0, 0.0, 0.0
    for j in range(len(state.mean)):
        for c in range(4):
            state.mean[j, c] = 0.0


@inner()
def count(state, free, substeps):
    """Add the wall's forces of a substep, one of so many, to their means."""
    for j in range(free):
        for c in range(4):
            state.mean[j, c] += state.contact[j, c] / substeps


def _entry(sources: int) -> Any:
    """`advance`, with the checksum of all files that are compiled into it: numba's cache knows it by that."""

    @compiled()
    def advance(rod, state, field, law, work, sheath, status, speed, spin, substeps):
        """Push with `speed` (mm/s) and turn with `spin` (rad/s) for so many substeps; how many nodes are free then.
        Stops when something is not finite."""
        forget(state, status)
        free = free_nodes(rod, status[LENGTH]) if sources else 0
        for _ in range(substeps):
            status[ANGLE] += turned(law, sheath, status, spin)
            if not np.isfinite(status[SETPOINT] + speed + status[ANGLE]):
                break
            free = substep(rod, state, field, law, work, sheath, status, law.dt * speed)
            count(state, free, substeps)
        return free

    return advance


advance = _entry(checksum(Path(__file__).parent))
