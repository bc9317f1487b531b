"""What a scoring is: a named, versioned function from a finished trial to one number.

`Scoring.score` settles what holds for every scoring: an unscored trial has no score; a trial that the policy
broke (an exception, an invalid action) has success 0 and the floor as its score, and none at all where there
is no floor. What is left, trials that ran to an end, goes to `rate`, the one method a scoring of your own
writes.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from proctor.config.models import ScoringCfg
from proctor.errors import InputError
from proctor.record.result import TrialResult


@dataclass(frozen=True, slots=True)
class Score:
    """One number and what it was made of; None is "not available", which is not 0."""

    total: float | None
    components: Mapping[str, float | None] = field(default_factory=dict)


class Remark(NamedTuple):
    """A sentence that a report owes its reader. `caution`: before the numbers are used."""

    level: Literal["caution", "note"]
    text: str


class Scoring(abc.ABC):
    """`components` names the parts of a score in the order of the report; `floor` is the total of a trial
    that the policy broke (None: such a trial has no score), overridden by `scoring.floor` of the config."""

    name: str
    version: str
    components: tuple[str, ...] = ()
    floor: float | None = None
    unit: str = "1"
    step_term: str | None = None
    """Among the terms of a score, the one that every step of an episode adds to."""

    def __init__(self, cfg: ScoringCfg):
        self.cfg = cfg
        if cfg.floor is not None:
            self.floor = cfg.floor

    def score(self, result: TrialResult) -> Score:
        """The score of one trial. A total or component that is not finite becomes None, never a number."""
        if not result.outcome.scored:
            return Score(None, dict.fromkeys(self.components))
        if result.outcome.broken_by_policy:
            return Score(self.floor, {name: 0.0 if name == "success" else None for name in self.components})
        rated = self.rate(result)
        return Score(finite(rated.total), {name: finite(value) for name, value in rated.components.items()})

    def settings(self) -> dict[str, Any]:
        """The numbers that the scores depend on, for the report."""
        return self.cfg.model_dump(mode="json")

    def check_tasks(self, tasks: Iterable[str]) -> None:  # noqa: B027 - optional to override
        """Raise InputError where the options do not go with tasks of these names."""

    def term_weights(self, task: str) -> Mapping[str, float]:
        """For a scoring that adds up terms: the weights on a task. Each term is a component of the score, its value
        times its weight; {} for any other scoring."""
        return {}

    def reweighted(self, weights: Mapping[str, float], recorded: Mapping[str, Sequence[str]]) -> dict[str, Any]:
        """The options of this scoring with these weights of terms, on every task that has the term; `recorded` has the
        names of the metrics of each task. Raises InputError for a term that no task has, and for a scoring without
        terms."""
        raise InputError(
            f'the run is scored by "{self.name}", which has no terms; --weights is for a scoring that adds up terms'
        )

    def remarks(self, recorded: Mapping[str, Sequence[str]]) -> list[Remark]:
        """What is to be said of these scores; `recorded` has the names of the metrics of each task."""
        return []

    @abc.abstractmethod
    def rate(self, result: TrialResult) -> Score:
        """The score of a trial that ran to an end."""


def finite(value: float | None) -> float | None:
    return float(value) if value is not None and math.isfinite(value) else None
