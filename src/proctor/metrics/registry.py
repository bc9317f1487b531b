"""The metrics that are computed of every episode: the registered ones, and a user's own by import string."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from proctor.errors import InputError
from proctor.metrics.protocol import GroupMetric, Metric
from proctor.metrics.terms import PAID, last_terms, term_of
from proctor.record.episode import Episode
from proctor.registry import METRICS

_Groups = dict[Callable[[Episode], Mapping[str, float | None]], Mapping[str, float | None]]
"""What metrics computed together gave for one episode."""


class MetricInfo(NamedTuple):
    name: str
    unit: str
    direction: str
    reducer: str
    doc: str


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


def compute(episode: Episode, extra: tuple[str, ...] = (), base: Path | None = None) -> dict[str, float | None]:
    """The value of every metric whose arrays are in the record, by name; None where it has none for this
    episode. Metrics whose arrays are missing are left out. The last values of reward terms are among them."""
    values: dict[str, float | None] = {}
    groups: _Groups = {}
    for metric in find_metrics(extra, base):
        if all(name in episode.arrays for name in metric.needs):
            values[metric.name] = _value(metric, episode, groups)
    return {**values, **last_terms(episode)}


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
    return None if number is None or math.isnan(number) else number


def describe(extra: tuple[str, ...] = (), base: Path | None = None) -> list[MetricInfo]:
    """Name, unit, direction, reducer and a sentence on every metric."""
    return [
        MetricInfo(m.name, m.unit, m.direction, m.reducer, " ".join((type(m).__doc__ or "").split()))
        for m in find_metrics(extra, base)
    ]


def describe_term(name: str) -> MetricInfo | None:
    """The same of the last value of a reward term; None for any other name."""
    if name == PAID:
        return MetricInfo(name, "reward", "up", "mean", "What the task's evaluation function paid on the last step.")
    term = term_of(name)
    return None if term is None else MetricInfo(name, "1", "none", "mean", f"The raw term {term} on the last step.")
