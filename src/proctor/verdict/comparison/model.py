"""A comparison as data: the one verdict that report, compare, leaderboard and gate read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from proctor.stats import Discordance, Estimate, Interval, TestResult
from proctor.verdict.estimand import Measure


@dataclass(frozen=True, slots=True)
class Difference:
    """One measure of a minus that of b: weighted means over tasks of the trials that were tested. `interval` is None
    exactly where `reason` says why, `test` where `untested` does; `p_adjusted` is Holm's over all pairs. `bounds`: the
    difference, had every unscored trial spoken against a, or for it; None where every trial is scored. `pooled`: the
    difference with every trial counting alike, whatever its task. `units`: seeds that vary independently."""

    measure: Measure
    value_a: float | None
    value_b: float | None
    value: float | None
    interval: Interval | None
    method: str
    reason: str | None = None
    test: TestResult | None = None
    untested: str | None = None
    p_adjusted: float | None = None
    effects: Mapping[str, float] = field(default_factory=dict)
    bounds: Interval | None = None
    pooled: float | None = None
    units: int = 0
    skewness: float = 0.0
    sample: np.ndarray | None = field(default=None, compare=False, repr=False)
    """Of pairs, a value for each unit, of which the difference is the mean."""
    simultaneous: Interval | None = None
    """An interval that holds together with those of all other pairs; None where there is one pair, or far too many."""

    @property
    def reversed_by_pooling(self) -> bool:
        """Whether counting trials alike would turn the difference round (Simpson's paradox)."""
        return bool(self.value) and bool(self.pooled) and (self.value or 0.0) * (self.pooled or 0.0) < 0

    def could_be(self, sign: float) -> bool:
        """Whether unscored trials leave it open that the difference is 0 or has this sign."""
        if self.bounds is None:
            return False
        return self.bounds.high >= 0 if sign > 0 else self.bounds.low <= 0


@dataclass(frozen=True, slots=True)
class TaskDifference:
    """One task of a pair. Wins and losses count pairs by score, by success where there are no scores; None where
    trials are not paired. `share`: how much the task counts."""

    task: str
    n: int
    share: float
    success: float | None
    score: float | None
    wins: int | None = None
    losses: int | None = None
    ties: int | None = None


@dataclass(frozen=True, slots=True)
class Pair:
    """Agent a against agent b. `n_a` and `n_b` are the trials that entered (equal where `paired`). `n_unscored` trials
    (pairs, where paired) have a side that the infrastructure broke; `n_single` trials have no partner.
    `unpaired_because` is None where `paired`. `discordance` counts outcomes of pairs; `improvement` is the chance that
    a trial of a scores above one of b. `estimand` says what is compared."""

    a: str
    b: str
    unpaired_because: str | None
    n_a: int
    n_b: int
    n_unscored: int
    n_single: int
    differences: Mapping[Measure, Difference]
    tasks: tuple[TaskDifference, ...]
    estimand: str
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
    None where there is nothing to compare. `rank` counts agents with a strictly better score (rate, where there are no
    scores), from 1; agents that came to the same on the trials that both have share it. Rate and score are weighted
    means over tasks of all its scored trials. `n_repeats` trials repeat an episode and are not among `n`."""

    agent: str
    rank: int | None
    n: int
    n_unscored: int
    n_repeats: int
    successes: int
    rate: float | None
    rate_interval: Interval | None
    score: float | None
    score_interval: Interval | None
    letters: Mapping[Measure, str | None]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Agents in rank order, and every pair of them, the better-ranked one first. `by`: what agents are ranked by.
    `tasks`: those that all agents have. `looked`: the number of trials was raised after results had been seen, and p
    holds at every look."""

    agents: tuple[Standing, ...]
    pairs: tuple[Pair, ...]
    tasks: tuple[str, ...]
    by: Measure
    level: float
    looked: bool = False

    def different(self, pair: Pair, measure: Measure | None = None) -> bool:
        """Whether the two differ significantly, by Holm's test over all pairs."""
        p = pair.of(measure or self.by).p_adjusted
        return p is not None and p <= 1 - self.level + 1e-12

    def better(self, pair: Pair, measure: Measure | None = None) -> str | None:
        """The agent that the trials show to be better: significantly so, by the sign of the tested difference, and
        whatever the unscored trials would have been. None where there is none."""
        own = pair.of(measure or self.by)
        if not self.different(pair, measure) or not own.value or own.could_be(-own.value):
            return None
        return pair.a if own.value > 0 else pair.b

    def hidden(self, pair: Pair) -> bool:
        """Whether a significant difference is no verdict, because unscored trials could turn it round."""
        return self.different(pair) and bool(pair.of(self.by).value) and self.better(pair) is None

    @property
    def winner(self) -> str | None:
        """The agent that ranks first and is shown to be better than every other; None where there is none."""
        first = self.agents[0].agent if self.agents else None
        own = [pair for pair in self.pairs if first in (pair.a, pair.b)]
        return first if own and all(self.better(pair) == first for pair in own) else None
