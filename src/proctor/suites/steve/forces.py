"""What SOFA's scene says of contact, as scalars.

- constraint forces of the LCP solver: sum and largest of their magnitudes;
- forces on the degrees of freedom of the wire and of its collision model: their norms.

What the scene does not have, or does not measure in a step, is NaN: an absent solver (a plugin that was not loaded),
an empty list of constraint forces (no contact is active), forces that are not finite.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

MISSING = (AttributeError, KeyError, ValueError, TypeError)
"""How SOFA's Python objects say that there is no such child, object or data."""

NOT_MEASURED: dict[str, float] = dict.fromkeys(
    ("wall_lcp_sum_abs", "wall_lcp_max_abs", "wall_wire_force_norm", "wall_collision_force_norm"), np.nan
)


class SceneForces:
    """Reads the scene under a root node; `root` is None where SOFA runs in another process."""

    def __init__(self, root: Any | None):
        self._root = root
        if root is not None:
            _switch_on(root)

    def read(self) -> dict[str, float]:
        """The four signals by name, in the units of the scene."""
        root = self._root
        if root is None:
            return dict(NOT_MEASURED)
        constraint = np.abs(_array(lambda: root.LCP.constraintForces.value))
        return {
            "wall_lcp_sum_abs": float(constraint.sum()) if constraint.size else np.nan,
            "wall_lcp_max_abs": float(constraint.max()) if constraint.size else np.nan,
            "wall_wire_force_norm": _norm(lambda: root.InstrumentCombined.DOFs.force.value),
            "wall_collision_force_norm": _norm(
                lambda: root.InstrumentCombined.CollisionModel.CollisionDOFs.force.value
            ),
        }


def _switch_on(root: Any) -> None:
    """Have the solver keep its forces, which it does on request only."""
    try:
        root.LCP.computeConstraintForces.value = True
    except MISSING:
        return


def _array(read: Callable[[], Any]) -> np.ndarray:
    """What `read` gives, flat; empty where it is missing or not finite."""
    try:
        values = np.array(read(), np.float64).ravel()
    except MISSING:
        return np.zeros(0)
    return values if np.isfinite(values).all() else np.zeros(0)


def _norm(read: Callable[[], Any]) -> float:
    values = _array(read)
    return float(np.linalg.norm(values)) if values.size else np.nan
