"""What a recorded array is: a value for every step, and in which unit.

A signal's name says its unit where that is not obvious (`ball_vel_m_s`, `grip_force_n`); a suite whose names do
not says it for them.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

UNITS = {
    "m_s2": "m/s²", "mm_s2": "mm/s²", "rad_s2": "rad/s²", "m_s": "m/s", "mm_s": "mm/s", "cm_s": "cm/s",
    "rad_s": "rad/s", "deg_s": "deg/s", "n_mm": "N mm", "n_m": "N m", "nm": "N m", "mm": "mm", "cm": "cm", "km": "km",
    "m": "m", "rad": "rad", "deg": "deg", "n": "N", "kn": "kN", "ms": "ms", "us": "µs", "s": "s", "hz": "Hz",
    "kg": "kg", "j": "J", "w": "W", "v": "V", "a": "A", "pa": "Pa", "kpa": "kPa", "px": "px", "percent": "%",
    "share": "share",
}  # fmt: skip
"""By the end of a signal's name, in small letters."""


def unit_of(name: str, said: Mapping[str, str], arrays: Mapping[str, np.ndarray]) -> str | None:
    """The unit of a signal; None where nothing says it. `said` has units by name, which go first; one in braces, such
    as `{force_unit}`, is in the constant of this name."""
    given = said.get(name)
    if given is not None and given.startswith("{"):
        constant = arrays.get(given.strip("{}"))
        return str(constant) if constant is not None and constant.ndim == 0 else None
    if given is not None:
        return given
    words = name.lower().replace("/", "_").split("_")
    ends = ("_".join(words[-n:]) for n in (2, 1) if len(words) > n)
    return next((UNITS[end] for end in ends if end in UNITS), None)


def step_times(arrays: Mapping[str, np.ndarray]) -> tuple[np.ndarray, str]:
    """When each step of a record ended, and the unit: seconds, or steps where the environment has no clock."""
    n = len(arrays["rewards"])
    dt = float(arrays["action_dt_s"]) if "action_dt_s" in arrays else float("nan")
    clock = np.isfinite(dt) and dt > 0
    return np.arange(1, n + 1) * (dt if clock else 1.0), "s" if clock else "steps"


def step_arrays(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The arrays of a record that have a number, or a row of numbers, for every step, by name."""
    n = len(arrays["rewards"])
    return {
        name: values.reshape(n, -1)
        for name, values in sorted(arrays.items())
        if values.dtype.kind in "biuf" and 1 <= values.ndim <= 2 and len(values) == n and values.size
    }
