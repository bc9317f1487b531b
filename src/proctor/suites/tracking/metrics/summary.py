"""Many motions as one dictionary: means and standard deviations, and rows under names of their own."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np

IDENTIFIERS = frozenset({"motion_id", "motion_file", "world", "seed"})
"""Numbers that name something: never averaged."""


def summarize(rows: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """Mean (`name`) and population standard deviation (`name#std`) of every numeric entry over the rows; identifiers
    and text are left out.

    A row without the entry, or with None or NaN there, cannot enter the mean: such rows are counted in `name#missing`,
    which is there only where it is not 0. Where no row has a value, mean and deviation are NaN."""
    rows = list(rows)
    names = dict.fromkeys(name for row in rows for name, value in row.items() if _is_number(value))
    kept = [name for name in names if name not in IDENTIFIERS]
    found: dict[str, float] = {}
    for name in kept:
        known = np.array([value for row in rows if _known(value := row.get(name))], np.float64)
        found[name] = float(known.mean()) if known.size else math.nan
        found[f"{name}#std"] = float(known.std()) if known.size else math.nan
        if len(known) < len(rows):
            found[f"{name}#missing"] = float(len(rows) - len(known))
    return found


def _is_number(value: Any) -> bool:
    return isinstance(value, Real | np.bool_)


def _known(value: Any) -> bool:
    return _is_number(value) and not math.isnan(float(value))


def by_motion(names: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Rows by motion, each with `motion_id` (its position) and `motion_file` (its name) added. A name that comes again
    gets a number, `walk`, `walk#2`, so that no row replaces another."""
    found: dict[str, dict[str, Any]] = {}
    for position, (name, row) in enumerate(zip(names, rows, strict=True)):
        key, again = name, 1
        while key in found or (again > 1 and key in names):
            again += 1
            key = f"{name}#{again}"
        found[key] = {**row, "motion_id": position, "motion_file": name}
    return found
