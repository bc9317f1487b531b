"""Targets: what the mean of a metric should come to, e.g. `targets: {emd: 0.75}` among the options of a scoring.

They change no score. A report says for every agent whether it meets them: below the target where lower is better, above
it where higher is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from proctor.errors import InputError
from proctor.registry import METRICS, did_you_mean

KEY = "targets"


def read_targets(options: Mapping[str, Any]) -> dict[str, float]:
    """The targets among the options of a scoring, by metric; none where there are none."""
    raw = options.get(KEY)
    if raw is None:
        return {}
    if not isinstance(raw, Mapping):
        raise InputError(f"the targets of the scoring are {raw!r}; expected numbers by metric, such as {{emd: 0.75}}")
    for name, value in raw.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise InputError(f'the target of "{name}" is {value!r}; expected a number')
    return {str(name): float(value) for name, value in raw.items()}


def check_targets(options: Mapping[str, Any], *, more_metrics: bool = False) -> None:
    """Refuse targets that are not numbers by metric, and names that no metric has. With `more_metrics` (the config
    brings its own, whose names are not known yet) any name goes."""
    known = METRICS.names()
    for name in read_targets(options):
        if name not in known and not more_metrics:
            raise InputError(
                f'there is a target for "{name}", which is no metric'
                + did_you_mean(name, known)
                + "; `proctor list` shows them all"
            )
