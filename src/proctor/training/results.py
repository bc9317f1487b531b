"""From episodes to numbers per motion, and from those to pass or fail."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from proctor.suites.tracking.metrics import Track, summarize
from proctor.suites.tracking.metrics.recorded import METRICS


@dataclass(frozen=True)
class Measured:
    """One episode: its motion, the world it ran in, what the agent did and how well."""

    motion: int
    world: int
    track: Track
    values: Mapping[str, float | None]


def by_motion(measured: Sequence[Measured], names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Metrics of every motion by name, in the motions' order: means over its episodes, with `motion_id`, `motion_file`
    (its name) and `worlds` (where they ran). A value that one of the episodes could not give is NaN; one
    that none has (`first_fall_s` without a fall) is left out."""
    episodes: dict[int, list[Measured]] = {}
    for one in measured:
        episodes.setdefault(one.motion, []).append(one)
    return {names[motion]: _of_motion(motion, names[motion], episodes[motion]) for motion in sorted(episodes)}


def _of_motion(motion: int, name: str, episodes: Sequence[Measured]) -> dict[str, Any]:
    means = {key: value for key, value in summarize([e.values for e in episodes]).items() if "#" not in key}
    for key in means:
        if any(math.isnan(value) for e in episodes if (value := e.values.get(key)) is not None):
            means[key] = math.nan
    return {**means, "motion_id": motion, "motion_file": name, "worlds": [e.world for e in episodes]}


def as_rows(metrics: Mapping[str, Mapping[str, Any]], first: str) -> list[dict[str, Any]]:
    """A row for each motion (or task), its name in the column `first`: numbers as they are, lists as text."""
    return [
        {first: name}
        | {
            key: " ".join(map(str, value)) if isinstance(value, list) else value
            for key, value in values.items()
            if key != "motion_file"
        }
        for name, values in metrics.items()
    ]


def verdict(
    metrics: dict[str, dict[str, Any]], log: Mapping[str, float], targets: Mapping[str, float]
) -> dict[str, float]:
    """`<metric>#passed` for every target and `passed` for all together, 1 or 0, by the mean over motions; and `passed`
    (bool) in the metrics of every motion. What could not be measured has not passed."""
    for values in metrics.values():
        values["passed"] = all(_reaches(key, values.get(key), target) for key, target in targets.items())
    found = {
        f"{key}#passed": float(_reaches(key, log.get(key), target) and not _any_nan(metrics, key))
        for key, target in targets.items()
    }
    return {**found, "passed": float(all(found.values()))}


def _reaches(metric: str, value: float | None, target: float) -> bool:
    if value is None or math.isnan(value):
        return False
    return value >= target if vars(METRICS)[metric].direction == "up" else value <= target


def _any_nan(metrics: Mapping[str, Mapping[str, Any]], key: str) -> bool:
    return any(math.isnan(value) for values in metrics.values() if (value := values.get(key)) is not None)
