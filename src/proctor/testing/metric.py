"""The laws of a metric, and of a family of metrics."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np

from proctor.metrics.protocol import Metric, MetricFamily, MetricInfo
from proctor.registry import METRICS
from proctor.testing.common import Conformance, check_meaning, check_part
from proctor_host.episode import Episode, Outcome, digest


class MetricConformance(Conformance[Metric]):
    """Subclass, name it `Test...`, and write `make`. Metrics of signals also write `signals`."""

    lengths: ClassVar[tuple[int, ...]] = (1, 2, 25)
    """Lengths of the episodes that the metric is tried on."""

    def signals(self, steps: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Arrays beside the standard ones, `steps` rows each (observations: `steps + 1`)."""
        return {}

    def test_declares_itself(self) -> None:
        metric = self.make()
        check_part(metric, Metric, "name", "unit")
        check_meaning(metric, "the metric")
        assert isinstance(metric.needs, tuple), f"needs is a {type(metric.needs).__name__}; expected a tuple of names"

    def test_gives_a_float_or_none(self) -> None:
        metric = self.make()
        for episode in self._episodes():
            value = metric(episode)
            number, kind = value is None or isinstance(value, float), type(value).__name__
            assert number, f"{episode.n_steps} steps, {episode.outcome}: got a {kind}, expected float or None"

    def test_is_pure(self) -> None:
        metric = self.make()
        for episode in self._episodes():
            before = digest(episode.arrays)
            first, second, fresh = metric(episode), metric(episode), self.make()(episode)
            assert digest(episode.arrays) == before, "the metric changed the episode's arrays"
            values = [np.float64(np.nan if v is None else v).tobytes() for v in (first, second, fresh)]
            assert len(set(values)) == 1, f"the same episode gave {first}, then {second}, and {fresh} from a new metric"

    def test_is_not_available_without_the_arrays_it_needs(self) -> None:
        metric = self.make()
        for episode in self._episodes():
            for name in metric.needs:
                rest = {key: value for key, value in episode.arrays.items() if key != name}
                found = metric(replace(episode, arrays=rest))
                assert found is None, f'without "{name}" the metric gave {found}; missing is not a number'

    def _episodes(self) -> list[Episode]:
        return made_up_episodes(self.signals, self.lengths)


Signals = Callable[[int, np.random.Generator], dict[str, np.ndarray]]


def made_up_episodes(signals: Signals, lengths: Sequence[int] = (1, 2, 25)) -> list[Episode]:
    """Seeded episodes of these lengths, successes and failures, with these signals."""
    outcomes = (Outcome.SUCCESS, Outcome.FAILURE)
    return [_episode(steps, outcome, signals) for steps in lengths for outcome in outcomes]


def _episode(steps: int, outcome: Outcome, signals: Signals) -> Episode:
    rng, last = np.random.default_rng(steps), np.arange(steps) == steps - 1
    arrays = {
        "actions": rng.uniform(-1, 1, (steps, 2)).astype(np.float32),
        "rewards": rng.standard_normal(steps),
        "terminals": last.copy(),
        "truncations": np.zeros(steps, bool),
        "success": last & (outcome is Outcome.SUCCESS),
        "action_dt_s": np.array(0.1),
        **signals(steps, rng),
    }
    return Episode(arrays, outcome, max_steps=50, task="task")


STRANGER = "a metric that no family has"


class MetricFamilyConformance(Conformance[MetricFamily]):
    """Subclass, name it `Test...`, write `make`, and `signals` with arrays that the family makes metrics of."""

    def signals(self, steps: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Arrays beside the standard ones, `steps` rows each."""
        raise NotImplementedError(f"{type(self).__name__} must say what the family reads: write signals(steps, rng)")

    def test_declares_itself(self) -> None:
        check_part(self.make(), MetricFamily, "name")

    def test_gives_floats_or_none_by_name(self) -> None:
        for episode in self._episodes():
            values = self.make().values(episode)
            assert isinstance(values, Mapping), f"values gave a {type(values).__name__}; expected a mapping"
            assert values, "values is empty for the arrays of signals(); the family has no metric to look at"
            for name, value in values.items():
                kind = type(value).__name__
                assert value is None or isinstance(value, float), f'"{name}" is a {kind}; expected float or None'

    def test_describes_its_own_metrics_and_no_others(self) -> None:
        family = self.make()
        for name in {name for episode in self._episodes() for name in family.values(episode)}:
            info = family.describe(name)
            assert isinstance(info, MetricInfo), f'describe("{name}") gave {info!r}; expected a MetricInfo'
            assert info.name == name, f'describe("{name}") is about "{info.name}"'
            check_meaning(info, f'"{name}"')
        assert family.describe(STRANGER) is None, f'describe("{STRANGER}") gave something; expected None'

    def test_no_name_is_that_of_a_metric(self) -> None:
        names = {name for episode in self._episodes() for name in self.make().values(episode)}
        taken = sorted(names & set(METRICS.names()))
        assert not taken, f"these names belong to registered metrics: {', '.join(taken)}"

    def test_is_pure(self) -> None:
        for episode in self._episodes():
            family, before = self.make(), digest(episode.arrays)
            first, second, fresh = (repr(dict(f.values(episode))) for f in (family, family, self.make()))
            assert digest(episode.arrays) == before, "the family changed the episode's arrays"
            assert first == second == fresh, (
                f"the same episode gave {first}, then {second}, and {fresh} from a new family"
            )

    def test_a_record_without_its_arrays_has_none_of_its_metrics(self) -> None:
        for episode in made_up_episodes(lambda steps, rng: {}):
            found = dict(self.make().values(episode))
            assert not found, f"without the arrays of signals() the family gave {found}; missing is not a number"

    def _episodes(self) -> list[Episode]:
        return made_up_episodes(self.signals)
