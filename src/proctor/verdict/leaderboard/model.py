"""A leaderboard as data: everything that its files show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from proctor.stats import Interval
from proctor.verdict.comparison import Comparison

Kind = Literal["avoid", "reach", "raise"]
BROKEN = "broken trials"
"""In the place of a term: what the floor of trials that the policy broke adds to a score."""


@dataclass(frozen=True, slots=True)
class TaskResult:
    """One agent on one task. `score` is the mean over its `n` scored trials; None without any, or where one has none.
    `n_repeats` more repeat an episode that is among them. `interval` is None exactly where `reason` says why. `terms`:
    what each adds to `score`, in the mean."""

    task: str
    n: int
    n_repeats: int
    n_unscored: int
    score: float | None
    interval: Interval | None
    reason: str | None
    terms: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Advice:
    """What would raise an agent's score by `gain`. `avoid`: a cost, met in `share` of the episodes of the tasks that
    have the term. `reach`: something that is paid where it is done, which was in `share` of the episodes. `raise`: a
    quantity that pays `own` and pays `best` for the agent `example`."""

    kind: Kind
    term: str
    gain: float
    share: float
    own: float
    best: float
    example: str | None = None
    did: str = ""
    """What the agent did where the term is not 0, in the scoring's words."""


@dataclass(frozen=True, slots=True)
class Entry:
    """An agent. `score` is the weighted mean over tasks, None unless every task has one. `rank` counts the agents with
    a better score, from 1; None without a score. Agents that share a letter do not differ significantly."""

    agent: str
    rank: int | None
    letters: str | None
    score: float | None
    interval: Interval | None
    reason: str | None
    tasks: tuple[TaskResult, ...]
    terms: Mapping[str, float]
    advice: tuple[Advice, ...]

    @property
    def n(self) -> int:
        return sum(task.n for task in self.tasks)

    @property
    def n_repeats(self) -> int:
        return sum(task.n_repeats for task in self.tasks)

    @property
    def n_unscored(self) -> int:
        return sum(task.n_unscored for task in self.tasks)


@dataclass(frozen=True)
class Leaderboard:
    """Entries in the order of the comparison, the best first. `weights`: how much each task counts; they add up to 1.
    `caution`s are to be read before the numbers."""

    name: str
    tasks: tuple[str, ...]
    weights: Mapping[str, float]
    scoring: str
    unit: str
    level: float
    entries: tuple[Entry, ...]
    comparison: Comparison
    cautions: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    runs: Mapping[str, str] = field(default_factory=dict)

    @property
    def terms(self) -> tuple[str, ...]:
        """Every term that counts for some agent, in the order of the tables."""
        return tuple(dict.fromkeys(term for entry in self.entries for term in entry.terms))
