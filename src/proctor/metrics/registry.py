"""The metrics that are computed of every episode: the registered ones, and a user's own by import string."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from pathlib import Path

from proctor.errors import InputError
from proctor.metrics.protocol import GroupMetric, Metric, MetricFamily, MetricInfo
from proctor.record.episode import Episode
from proctor.registry import FAMILIES, METRICS

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
    for metric in find_metrics(extra, base):
        if all(name in episode.arrays for name in metric.needs):
            values[metric.name] = _value(metric, episode, groups)
    for family in find_families():
        values.update(_of_family(family, episode))
    return values


def _value(metric: Metric, episode: Episode, groups: _Groups) -> float | None:
    try:
        if isinstance(metric, GroupMetric):
            if metric.together not in groups:
                groups[metric.together] = metric.together(episode)
            value = groups[metric.together].get(metric.name)
        else:
            value = metric(episode)
        number = None if value is None else float(value)
    except Exception as error:
        raise InputError(
            f'the metric "{metric.name}" failed on an episode of {episode.n_steps} steps: '
            f"{type(error).__name__}: {error}"
        ) from error
    return _known(number)


def _known(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else float(value)


def _of_family(family: MetricFamily, episode: Episode) -> dict[str, float | None]:
    try:
        return {name: _known(value) for name, value in family.values(episode).items()}
    except Exception as error:
        raise InputError(
            f'the metric family "{family.name}" failed on an episode of {episode.n_steps} steps: '
            f"{type(error).__name__}: {error}"
        ) from error


def describe(extra: tuple[str, ...] = (), base: Path | None = None) -> list[MetricInfo]:
    """Name, unit, direction, reducer and a sentence on every metric."""
    return [
        MetricInfo(m.name, m.unit, m.direction, m.reducer, " ".join((type(m).__doc__ or "").split()))
        for m in find_metrics(extra, base)
    ]


def describe_of_family(name: str) -> MetricInfo | None:
    """The same of one metric of a family; None for a name that no family knows."""
    return next((info for family in find_families() if (info := family.describe(name)) is not None), None)
