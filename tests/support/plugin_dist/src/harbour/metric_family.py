"""A family of metrics: the last value of each signal that the harbour measures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from proctor import Episode, MetricFamily
from proctor.metrics import MetricInfo

LAST = "harbour_last_"


class LastSignals(MetricFamily):
    """The last value of every signal in metres."""

    name: ClassVar[str] = "harbour_last"

    def values(self, episode: Episode) -> Mapping[str, float | None]:
        arrays = {name: array for name, array in episode.arrays.items() if name.endswith("_m") and array.ndim == 1}
        return {LAST + name: float(array[-1]) if len(array) else None for name, array in arrays.items()}

    def describe(self, name: str) -> MetricInfo | None:
        if not name.startswith(LAST):
            return None
        return MetricInfo(name, "m", "none", "mean", f"The last value of the signal {name.removeprefix(LAST)}.")
