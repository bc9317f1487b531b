"""A comparison as data: everything that its files show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from proctor.stats import Discordance, Estimate, Interval, TestResult

Measure = Literal["success", "score"]
MEASURES: tuple[Measure, ...] = ("success", "score")


@dataclass(frozen=True, slots=True)
class Difference:
    """One measure of a minus that of b. `interval` is None exactly where `reason` says why. `test` is None where there
    is none; `p_adjusted` is Holm's over all pairs. `bounds`: the difference, had every unscored trial spoken against a,
    or for it; None where every trial is scored, and for scores."""

    measure: Measure
    value_a: float | None
    value_b: float | None
    value: float | None
    interval: Interval | None
    method: str
    reason: str | None = None
    test: TestResult | None = None
    p_adjusted: float | None = None
    effects: Mapping[str, float] = field(default_factory=dict)
    bounds: Interval | None = None


@dataclass(frozen=True, slots=True)
class TaskDifference:
    """One task of a pair. Wins and losses count pairs by score, by success where there are no scores; None where
    trials are not paired."""

    task: str
    n: int
    success: float | None
    score: float | None
    wins: int | None = None
    losses: int | None = None
    ties: int | None = None


@dataclass(frozen=True, slots=True)
class Pair:
    """Agent a against agent b. `n_a` and `n_b` are the trials that entered (equal where `paired`), without
    `n_copies`, whose episodes equal those of an earlier one. `n_unscored` pairs have a side that the
    infrastructure broke; `n_single` trials have no partner. `unpaired_because` is None where `paired`.
    `discordance` counts outcomes of pairs; `improvement` is the chance that a trial of a scores above one of b."""

    a: str
    b: str
    unpaired_because: str | None
    n_a: int
    n_b: int
    n_copies: int
    n_unscored: int
    n_single: int
    differences: Mapping[Measure, Difference]
    tasks: tuple[TaskDifference, ...]
    discordance: Discordance | None = None
    improvement: Estimate | None = None

    @property
    def paired(self) -> bool:
        return self.unpaired_because is None

    @property
    def success(self) -> Difference:
        return self.differences["success"]

    @property
    def score(self) -> Difference:
        return self.differences["score"]

    def of(self, measure: Measure) -> Difference:
        return self.differences[measure]


@dataclass(frozen=True, slots=True)
class Standing:
    """An agent in the order of the comparison. Letters by measure: agents that share one do not differ significantly;
    None where not every pair was tested. `rank` counts agents with a strictly better score (rate, where there are no
    scores), from 1."""

    agent: str
    rank: int | None
    n: int
    n_unscored: int
    successes: int
    rate: float | None
    rate_interval: Interval | None
    score: float | None
    letters: Mapping[Measure, str | None]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Agents in rank order, and pairs of them, the better-ranked one first. `in_full`: every pair was tested, else
    those with the first agent only. `by`: what agents are ranked by. `tasks`: those that all agents have."""

    agents: tuple[Standing, ...]
    pairs: tuple[Pair, ...]
    tasks: tuple[str, ...]
    by: Measure
    level: float
    in_full: bool

    def different(self, pair: Pair, measure: Measure | None = None) -> bool:
        """Whether the two differ significantly, by Holm's test over all pairs."""
        p = pair.of(measure or self.by).p_adjusted
        return p is not None and p <= 1 - self.level + 1e-12
