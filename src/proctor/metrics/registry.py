"""The metrics that are computed of every episode: the registered ones, and a user's own by import string."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from pathlib import Path

from proctor.errors import BREAKS, InputError
from proctor.metrics.protocol import GroupMetric, Metric, MetricFamily, MetricInfo
from proctor.registry import FAMILIES, METRICS
from proctor_host.episode import Episode

_Groups = dict[Callable[[Episode], Mapping[str, float | None]], Mapping[str, float | None]]
"""What metrics computed together gave for one episode."""


@functools.lru_cache(maxsize=32)
def find_metrics(extra: tuple[str, ...] = (), base: Path | None = None) -> tuple[Metric, ...]:
    """All metrics, the registered ones first. `extra` are import strings, looked up under `base`; an unknown
    one, one that is no Metric, and a name used twice are refused."""
    metrics: dict[str, Metric] = {}
    for target in (*METRICS.names(), *extra):
        metric = METRICS.find(target, base)()
        if metric.name in metrics:
            raise InputError(f'two metrics are called "{metric.name}"; give the one in {target} another name')
        metrics[metric.name] = metric
    return tuple(metrics.values())


@functools.cache
def find_families() -> tuple[MetricFamily, ...]:
    """All registered families of metrics."""
    return tuple(FAMILIES.load(name)() for name in FAMILIES.names())


def compute(episode: Episode, extra: tuple[str, ...] = (), base: Path | None = None) -> dict[str, float | None]:
    """The value of every metric whose arrays are in the record, by name; None where it has none for this
    episode. Metrics whose arrays are missing are left out. Those of families are among them."""
    values: dict[str, float | None] = {}
    groups: _Groups = {}
    for part in (*find_metrics(extra, base), *find_families()):
        try:
            if isinstance(part, MetricFamily):
                values.update({name: _known(value) for name, value in part.values(episode).items()})
            elif all(name in episode.arrays for name in part.needs):
                values[part.name] = _known(_value(part, episode, groups))
        except BREAKS as error:
            who = f'metric{" family" if isinstance(part, MetricFamily) else ""} "{part.name}"'
            raise InputError(
                f"the {who} failed on an episode of {episode.n_steps} steps: {type(error).__name__}: {error}"
            ) from error
    return values


def _value(metric: Metric, episode: Episode, groups: _Groups) -> float | None:
    if not isinstance(metric, GroupMetric):
        return metric(episode)
    if metric.together not in groups:
        groups[metric.together] = metric.together(episode)
    return groups[metric.together].get(metric.name)


def _known(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else float(value)


def describe(extra: tuple[str, ...] = (), base: Path | None = None) -> list[MetricInfo]:
    """Name, unit, direction, reducer and a sentence on every metric."""
    return [
        MetricInfo(m.name, m.unit, m.direction, m.reducer, " ".join((type(m).__doc__ or "").split()))
        for m in find_metrics(extra, base)
    ]


def describe_of_family(name: str) -> MetricInfo | None:
    """The same of one metric of a family; None for a name that no family knows."""
    return next((info for family in find_families() if (info := family.describe(name)) is not None), None)
