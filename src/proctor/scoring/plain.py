"""Scores that read one thing of a trial, and a user's plain function as a scoring."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any

from proctor.config.models import ScoringCfg
from proctor.errors import InputError
from proctor.record.result import TrialResult
from proctor.scoring import targets
from proctor.scoring.protocol import Score, Scoring


class SuccessScoring(Scoring):
    """1 for success by the task's rule, else 0."""

    name, version, components = "success", "1", ("success",)
    floor: float | None = 0.0

    def rate(self, result: TrialResult) -> Score:
        return Score(float(result.success), {"success": float(result.success)})


class ReturnScoring(Scoring):
    """The sum of rewards. It has no floor of its own, because a return may be negative: a run in which a
    policy breaks needs `scoring.floor`."""

    name, version, unit = "return", "1", "reward"

    def rate(self, result: TrialResult) -> Score:
        return Score(result.episode_reward)


class FunctionScoring(Scoring):
    """A plain function `(TrialResult, **options) -> float | None | Score`, `targets` left out of the options. It has
    no floor of its own."""

    version = "own"

    def __init__(self, cfg: ScoringCfg, function: Callable[..., Any]):
        super().__init__(cfg)
        self.name, self._function = cfg.mode, function
        self._options = {name: value for name, value in cfg.options.items() if name != targets.KEY}

    def rate(self, result: TrialResult) -> Score:
        key = result.trial.key
        try:
            value = self._function(result, **self._options)
        except Exception as error:
            raise InputError(
                f'the scoring "{self.name}" failed on trial {key}: {type(error).__name__}: {error}'
            ) from error
        if isinstance(value, Score):
            return value
        if value is None or isinstance(value, Real):
            return Score(None if value is None else float(value))
        raise InputError(
            f'the scoring "{self.name}" returned {value!r} for trial {key}; expected a number, None or Score'
        )
