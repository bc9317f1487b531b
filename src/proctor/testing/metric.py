"""The laws of a metric, of a family of metrics, and of a scoring."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from proctor.config.models import ScoringCfg
from proctor.errors import InputError
from proctor.metrics.protocol import Metric, MetricFamily, MetricInfo
from proctor.registry import METRICS
from proctor.scoring.protocol import Score, Scoring
from proctor.testing.common import Conformance, check_meaning, check_part, without_error
from proctor_host.episode import Episode, Outcome, digest
from proctor_host.result import TrialResult
from proctor_host.trials import Trial


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
            assert len(set(_bytes((first, second, fresh)))) == 1, (
                f"the same episode gave {first}, then {second}, and {fresh} from a new metric"
            )

    def test_many_episodes_have_the_values_of_each(self) -> None:
        metric, episodes = self.make(), self._episodes()
        found, each = list(metric.many(episodes)), [metric(episode) for episode in episodes]
        assert _bytes(found) == _bytes(each), f"many gave {found} for episodes that one by one have {each}"

    def test_is_not_available_without_the_arrays_it_needs(self) -> None:
        metric = self.make()
        for episode in self._episodes():
            for name in metric.needs:
                rest = {key: value for key, value in episode.arrays.items() if key != name}
                found = metric(replace(episode, arrays=rest))
                assert found is None, f'without "{name}" the metric gave {found}; missing is not a number'

    def _episodes(self) -> list[Episode]:
        return made_up_episodes(self.signals, self.lengths)


def _bytes(values: Sequence[float | None]) -> list[bytes]:
    return [np.float64(np.nan if value is None else value).tobytes() for value in values]


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

    def test_many_episodes_have_the_values_of_each(self) -> None:
        family, episodes = self.make(), self._episodes()
        found, each = ([dict(v) for v in some] for some in (family.many(episodes), map(family.values, episodes)))
        assert repr(found) == repr(each), f"many gave {found} for episodes that one by one have {each}"

    def test_a_record_without_its_arrays_has_none_of_its_metrics(self) -> None:
        for episode in made_up_episodes(lambda steps, rng: {}):
            found = dict(self.make().values(episode))
            assert not found, f"without the arrays of signals() the family gave {found}; missing is not a number"

    def _episodes(self) -> list[Episode]:
        return made_up_episodes(self.signals)


class ScoringConformance:
    """Subclass, name it `Test...`, and write `make`; `metrics` are values of the metrics that it reads, and `options`
    those of the config."""

    metrics: ClassVar[dict[str, float | None]] = {}
    options: ClassVar[dict[str, Any]] = {}

    def make(self, cfg: ScoringCfg) -> Scoring:
        """The scoring of this config."""
        raise NotImplementedError(f"{type(self).__name__} must say how its scoring is made: write make(cfg)")

    def test_declares_itself(self) -> None:
        scoring = self._made()
        check_part(scoring, Scoring, "name", "version", "unit")
        kind = type(scoring.components).__name__
        assert isinstance(scoring.components, tuple), f"components is a {kind}; expected a tuple of names"

    def test_a_trial_without_a_verdict_has_no_score(self) -> None:
        for outcome in (Outcome.ENV_ERROR, Outcome.TIMEOUT, Outcome.WORKER_LOST):
            total = self._made().score(self._result(outcome)).total
            assert total is None, f"an unscored trial ({outcome}) got the score {total}; expected None"

    def test_what_the_policy_broke_gets_the_floor(self) -> None:
        for outcome in (Outcome.POLICY_ERROR, Outcome.INVALID_ACTION):
            scoring = self._made()
            total = scoring.score(self._result(outcome)).total
            assert total == scoring.floor, f"a trial that ended as {outcome} got {total}; the floor is {scoring.floor}"
            total = self._made(floor=-7.5).score(self._result(outcome)).total
            assert total == -7.5, f"a trial that ended as {outcome} got {total} where the config's floor is -7.5"

    def test_a_score_is_a_finite_number_with_the_declared_components(self) -> None:
        scoring = self._made()
        for result in self._results():
            rated = scoring.rate(result)
            assert isinstance(rated, Score), f"rate gave a {type(rated).__name__}; expected proctor.scoring.Score"
            score = scoring.score(result)
            for name, value in {"total": score.total, **score.components}.items():
                fine = value is None or (isinstance(value, float | int) and math.isfinite(value))
                assert fine, f"{result.outcome}: {name} is {value!r}; expected a finite number or None"
            unknown = [name for name in score.components if scoring.components and name not in scoring.components]
            assert not unknown, f"{result.outcome}: the score has {', '.join(unknown)}, which components does not name"

    def test_is_pure(self) -> None:
        scoring = self._made()
        for result in self._results():
            before = deepcopy(result)
            first, second, fresh = scoring.score(result), scoring.score(result), self._made().score(result)
            assert result == before, "the scoring changed the result that it was given"
            assert first == second == fresh, (
                f"one result got {first.total}, then {second.total}, and {fresh.total} from a new scoring"
            )

    def test_a_missing_metric_is_not_a_number(self) -> None:
        """None, another score or an InputError that says what is missing; any other exception would end a report."""
        for name in self.metrics:
            for result in self._results():
                without = replace(result, metrics={k: v for k, v in result.metrics.items() if k != name})
                for given in (without, replace(result, metrics={**result.metrics, name: None})):
                    with without_error(f'without the metric "{name}" the scoring'), suppress(InputError):
                        self._made().score(given)

    def test_settings_are_plain_data(self) -> None:
        settings = self._made().settings()
        try:
            same = json.loads(json.dumps(settings)) == settings
        except TypeError as error:
            raise AssertionError(f"settings() cannot be written as JSON: {error}") from None
        assert same, "settings() comes back from JSON as something else; use plain numbers, text and lists"

    def _made(self, floor: float | None = None) -> Scoring:
        return self.make(ScoringCfg(mode="mine", floor=floor, options=deepcopy(self.options)))

    def _results(self) -> list[TrialResult]:
        return [self._result(outcome) for outcome in (Outcome.SUCCESS, Outcome.FAILURE, Outcome.TRUNCATED)]

    def _result(self, outcome: Outcome) -> TrialResult:
        success = outcome is Outcome.SUCCESS
        return TrialResult(
            trial=Trial("agent", "task", 0, 123),
            outcome=outcome,
            success=success,
            steps_total=20,
            steps_to_success=20 if success else None,
            first_success=20 if success else None,
            episode_reward=3.5,
            max_steps=20,
            metrics=dict(self.metrics),
        )
