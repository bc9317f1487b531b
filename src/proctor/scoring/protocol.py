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
from typing import Any, ClassVar, Literal, NamedTuple

from proctor.config.models import Frozen, ScoringCfg
from proctor.config.problems import Problems
from proctor.config.validate import validate
from proctor.errors import InputError
from proctor_host.result import TrialResult


@dataclass(frozen=True, slots=True)
class Score:
    """One number and what it was made of; None is "not available", which is not 0."""

    total: float | None
    components: Mapping[str, float | None] = field(default_factory=dict)


class Remark(NamedTuple):
    """A sentence that a report owes its reader. `caution`: before the numbers are used."""

    level: Literal["caution", "note"]
    text: str


class ScoringOptions(Frozen):
    """Base of a scoring's options: frozen data, unknown keys refused."""


class Scoring(abc.ABC):
    """`components` names the parts of a score in the order of the report; `floor` is the total of a trial
    that the policy broke (None: such a trial has no score), overridden by `scoring.floor` of the config.
    `Options` is the model of `scoring.options`, which `options` is then an instance of; None: any options are taken,
    as they are in `cfg.options`."""

    name: str
    version: str
    Options: ClassVar[type[ScoringOptions] | None] = None
    components: tuple[str, ...] = ()
    floor: float | None = None
    unit: str = "1"
    step_term: str | None = None
    """Among the terms of a score, the one that every step of an episode adds to."""
    term_words: Mapping[str, str] = {}
    """What an agent did where a term is not 0 ("fell"); a term that is not here goes by its name."""

    def __init__(self, cfg: ScoringCfg):
        self.cfg = cfg
        if cfg.floor is not None:
            self.floor = cfg.floor
        self.options: Any = cfg.options if self.Options is None else _checked(self.Options, cfg)

    def score(self, result: TrialResult) -> Score:
        """The score of one trial. A total or component that is not finite becomes None, never a number."""
        if not result.outcome.scored:
            return Score(None, dict.fromkeys(self.components))
        if result.outcome.broken_by_policy:
            return Score(self.floor, {name: 0.0 if name == "success" else None for name in self.components})
        rated = self.rate(result)
        return Score(finite(rated.total), {name: finite(value) for name, value in rated.components.items()})

    @property
    def limits(self) -> tuple[float, float] | None:
        """The least and the most that a score can be, the floor aside; None where there is no such limit. A verdict
        uses them for what trials may not have shown."""
        return None

    def settings(self) -> dict[str, Any]:
        """The numbers that the scores depend on, for the report."""
        options = self.cfg.options if self.Options is None else self.options.model_dump(mode="json")
        return {**self.cfg.model_dump(mode="json"), "options": options}

    def check_tasks(self, tasks: Iterable[str]) -> None:  # noqa: B027 - optional to override
        """Raise InputError where the options do not go with tasks of these names."""

    def term_weights(self, task: str) -> Mapping[str, float]:
        """For a scoring that adds up terms: the weights on a task. Each term is a component of the score, its value
        times its weight; {} for any other scoring."""
        return {}

    def reweighted(self, weights: Mapping[str, float], recorded: Mapping[str, Sequence[str]]) -> dict[str, Any]:
        """For a scoring that adds up terms: its options with these weights on every task that recorded the term;
        `recorded` has the names of the metrics of each task. Raises InputError where there is no such term."""
        raise InputError(
            f'the run is scored by "{self.cfg.mode}", which has no terms; --weights is for a scoring that adds up terms'
        )

    def remarks(self, recorded: Mapping[str, Sequence[str]]) -> list[Remark]:
        """What is to be said of these scores; `recorded` has the names of the metrics of each task."""
        return []

    @abc.abstractmethod
    def rate(self, result: TrialResult) -> Score:
        """The score of a trial that ran to an end."""


def _checked(model: type[ScoringOptions], cfg: ScoringCfg) -> ScoringOptions:
    problems = Problems(f"the scoring {cfg.mode}")
    options = validate(model, cfg.options, ("options",), problems)
    problems.raise_any()
    assert options is not None
    return options


def finite(value: float | None) -> float | None:
    return float(value) if value is not None and math.isfinite(value) else None
