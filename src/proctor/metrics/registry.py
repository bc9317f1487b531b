"""The metrics that are computed of every episode: the registered ones, and a user's own by import string."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from proctor.errors import BREAKS, InputError
from proctor.metrics.protocol import GroupMetric, Metric, MetricFamily, MetricInfo
from proctor.registry import FAMILIES, METRICS
from proctor_host.episode import Episode

_Groups = dict[Callable[[Episode], Mapping[str, float | None]], dict[int, Mapping[str, float | None]]]
"""What metrics that are computed together gave, by the number of the episode."""


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
    return compute_many((episode,), extra, base)[0]


def compute_many(
    episodes: Sequence[Episode], extra: tuple[str, ...] = (), base: Path | None = None
) -> list[dict[str, float | None]]:
    """`compute` of each episode, the same values as one by one. Metrics that can compute many at once do so, and may
    use all cores of the machine."""
    found: list[dict[str, float | None]] = [{} for _ in episodes]
    groups: _Groups = {}
    for part in (*find_metrics(extra, base), *find_families()):
        try:
            _add(part, episodes, found, groups)
        except BREAKS as error:
            for episode in episodes if len(episodes) > 1 else ():
                compute(episode, extra, base)  # raises for the one to blame
            who = f'metric{" family" if isinstance(part, MetricFamily) else ""} "{part.name}"'
            one = len(episodes) == 1
            whom = f"an episode of {episodes[0].n_steps} steps" if one else f"{len(episodes)} episodes together"
            raise InputError(f"the {who} failed on {whom}: {type(error).__name__}: {error}") from error
    return found


def beside(episode: Episode, extra: tuple[str, ...] = (), base: Path | None = None) -> bool:
    """Whether one of the episode's metrics is best computed beside other work (`Metric.beside`)."""
    return any(metric.beside and _can(metric, episode) for metric in find_metrics(extra, base))


def _can(metric: Metric, episode: Episode) -> bool:
    """Whether the record has the arrays that a metric needs."""
    return all(map(episode.arrays.__contains__, metric.needs))


def _add(
    part: Metric | MetricFamily,
    episodes: Sequence[Episode],
    found: Sequence[dict[str, float | None]],
    groups: _Groups,
) -> None:
    """Add what one metric or family has for these episodes."""
    if isinstance(part, MetricFamily):
        for values, own in zip(found, part.many(episodes), strict=True):
            values.update({name: _known(value) for name, value in own.items()})
        return
    rows = [row for row, episode in enumerate(episodes) if _can(part, episode)]
    if not rows:
        return
    if isinstance(part, GroupMetric):
        group = groups.setdefault(part.together, {})
        fresh = [row for row in rows if row not in group]
        if fresh:
            group.update(zip(fresh, part.together_many([episodes[row] for row in fresh]), strict=True))
        given: Sequence[float | None] = [group[row].get(part.name) for row in rows]
    else:
        given = part.many([episodes[row] for row in rows])
    for row, value in zip(rows, given, strict=True):
        found[row][part.name] = _known(value)


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
