"""The laws of a scoring."""

from __future__ import annotations

import json
import math
from contextlib import suppress
from copy import deepcopy
from dataclasses import replace
from typing import Any, ClassVar

from proctor.config.models import ScoringCfg
from proctor.errors import InputError
from proctor.scoring.protocol import Score, Scoring
from proctor.testing.common import check_part, without_error
from proctor_host.episode import Outcome
from proctor_host.result import TrialResult
from proctor_host.trials import Trial


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
