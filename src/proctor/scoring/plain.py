"""Scores that read one thing of a trial, a user's plain function as a scoring, and scorings by name."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from pathlib import Path
from typing import Any

from proctor.config.models import ScoringCfg
from proctor.errors import BREAKS, InputError
from proctor.registry import SCORINGS, import_object
from proctor.scoring.columns import ColumnScoring, Scores, TrialColumns
from proctor.scoring.protocol import Score, Scoring, ScoringOptions
from proctor_host.result import TrialResult


class SuccessScoring(ColumnScoring):
    """1 for success by the task's rule, else 0."""

    name, version, components = "success", "1", ("success",)
    Options = ScoringOptions
    fields = ("success",)
    floor: float | None = 0.0

    @property
    def limits(self) -> tuple[float, float]:
        return 0.0, 1.0

    def rate_columns(self, trials: TrialColumns) -> Scores:
        success = trials.number("success")
        return Scores.of(success, {"success": success})


class ReturnScoring(ColumnScoring):
    """The sum of rewards. It has no floor of its own, because a return may be negative: a run in which a
    policy breaks needs `scoring.floor`."""

    name, version, unit = "return", "1", "reward"
    Options = ScoringOptions
    fields = ("episode_reward",)

    def rate_columns(self, trials: TrialColumns) -> Scores:
        return Scores.of(trials.number("episode_reward"), {})


class FunctionScoring(Scoring):
    """A plain function `(TrialResult, **options) -> float | None | Score`. It has no floor of its own."""

    version = "own"

    def __init__(self, cfg: ScoringCfg, function: Callable[..., Any]):
        super().__init__(cfg)
        self.name, self._function = cfg.mode, function

    def rate(self, result: TrialResult) -> Score:
        key = result.trial.key
        try:
            value = self._function(result, **self.cfg.options)
        except BREAKS as error:
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


def make_scoring(cfg: ScoringCfg, base: Path | None = None) -> Scoring:
    """The scoring that `cfg.mode` names: registered, or by import string (files under `base`) a Scoring
    subclass or a plain function of a TrialResult."""
    found = import_object(cfg.mode, base) if ":" in cfg.mode else SCORINGS.load(cfg.mode)
    if isinstance(found, type):
        if issubclass(found, Scoring):
            return found(cfg)
    elif callable(found):
        return FunctionScoring(cfg, found)
    raise InputError(
        f'the scoring "{cfg.mode}" is {found!r}; expected a subclass of proctor.scoring.Scoring or a '
        "function that takes a TrialResult and returns a number"
    )
