"""What a metric is: a pure function of an episode, with unit, direction and reducer.

`needs` names the arrays that must be in the record; without them the metric is not available (None), which is
not 0. A value may also be None or NaN for one episode (a time to success without success); such episodes are
left out of the mean, and the count that remains is reported beside it.
"""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, NamedTuple, TypeVar

from proctor_host.episode import Episode

Direction = Literal["up", "down", "none"]
Reducer = Literal["mean", "max", "min", "median", "rate"]


class MetricInfo(NamedTuple):
    """What a report says of a metric beside its values."""

    name: str
    unit: str
    direction: str
    reducer: str
    doc: str


class Metric(abc.ABC):
    """One number of an episode. Its docstring is the sentence that `proctor list` shows."""

    name: ClassVar[str]
    unit: ClassVar[str]
    """"1" for a pure number."""
    direction: ClassVar[Direction]
    reducer: ClassVar[Reducer] = "mean"
    needs: ClassVar[tuple[str, ...]] = ()
    beside: ClassVar[bool] = False
    """Whether it takes long and leaves the interpreter free meanwhile: then a worker computes the metrics of such a
    trial on a thread of its own, while it goes on stepping."""

    @abc.abstractmethod
    def __call__(self, episode: Episode) -> float | None:
        """The value for one episode; None where it has none."""

    def many(self, episodes: Sequence[Episode]) -> Sequence[float | None]:
        """The value for each episode, the same as one by one. All have the arrays that it needs."""
        return [self(episode) for episode in episodes]


MetricT = TypeVar("MetricT", bound=Metric)


class GroupMetric(Metric):
    """One of several metrics that come out of one computation. The registry calls `together`, or of several episodes
    `together_many`, once for all that share it; `metric(episode)` alone gives the same value."""

    @staticmethod
    @abc.abstractmethod
    def together(episode: Episode) -> Mapping[str, float | None]:
        """The values of the group by name, those whose arrays are in the record."""

    @classmethod
    def together_many(cls, episodes: Sequence[Episode]) -> Sequence[Mapping[str, float | None]]:
        """`together` of each episode, the same as one by one. It may use all cores of the machine."""
        return [cls.together(episode) for episode in episodes]

    def __call__(self, episode: Episode) -> float | None:
        if any(name not in episode.arrays for name in self.needs):
            return None
        return self.together(episode).get(self.name)

    def many(self, episodes: Sequence[Episode]) -> Sequence[float | None]:
        return [found.get(self.name) for found in self.together_many(episodes)]


def metric_class(base: type[MetricT], doc: str, **data: object) -> type[MetricT]:
    """A metric that differs from others of its kind in its data alone: `name`, `unit`, `direction`, `needs`, ..."""
    made: Any = type(str(data["name"]), (base,), {**data, "__doc__": doc, "__module__": base.__module__})
    return made


class MetricFamily(abc.ABC):
    """Metrics whose names are only known from the record, such as the last value of every signal that begins alike.
    Registered in the group `proctor.metric_families`; no name of a family may be that of a metric."""

    name: ClassVar[str]

    @abc.abstractmethod
    def values(self, episode: Episode) -> Mapping[str, float | None]:
        """The value of every metric of the family that the record has, by name; None where it has none."""

    def many(self, episodes: Sequence[Episode]) -> Sequence[Mapping[str, float | None]]:
        """`values` of each episode, the same as one by one."""
        return [self.values(episode) for episode in episodes]

    @abc.abstractmethod
    def describe(self, name: str) -> MetricInfo | None:
        """Unit, direction, reducer and a sentence on a metric of the family; None for a name that is not its own."""
