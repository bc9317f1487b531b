"""The laws of a family of metrics."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from proctor.metrics.protocol import MetricFamily, MetricInfo
from proctor.record.episode import Episode, digest
from proctor.registry import METRICS
from proctor.testing.common import Conformance, check_meaning, check_part
from proctor.testing.metric import made_up_episodes

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
