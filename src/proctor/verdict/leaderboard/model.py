"""A leaderboard as data: everything that its files show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from proctor.stats import Interval

Kind = Literal["avoid", "reach", "raise"]
BROKEN = "broken trials"
"""In the place of a term: what the floor of trials that the policy broke adds to a score."""


@dataclass(frozen=True, slots=True)
class TaskResult:
    """One agent on one task. `score` is the mean over all `n` scored trials; None without any, or where one has none.
    `n_distinct` of them are different episodes, and the interval is of those: copies add no evidence. `interval` is
    None exactly where `reason` says why. `terms`: what each adds to `score`, in the mean."""

    task: str
    n: int
    n_distinct: int
    n_unscored: int
    score: float | None
    score_distinct: float | None
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
    """An agent. `score` is the weighted mean over tasks, None unless every task has one. `rank` counts the agents that
    the trials show to be better, from 1; None without a score. Agents that share a letter do not differ
    significantly. `fixed`: tasks with a single different episode; they are held fixed in the interval."""

    agent: str
    rank: int | None
    letters: str | None
    score: float | None
    interval: Interval | None
    reason: str | None
    fixed: tuple[str, ...]
    tasks: tuple[TaskResult, ...]
    terms: Mapping[str, float]
    advice: tuple[Advice, ...]

    @property
    def n(self) -> int:
        return sum(task.n for task in self.tasks)

    @property
    def n_distinct(self) -> int:
        return sum(task.n_distinct for task in self.tasks)

    @property
    def n_unscored(self) -> int:
        return sum(task.n_unscored for task in self.tasks)


@dataclass(frozen=True, slots=True)
class Gap:
    """The weighted mean of a, which is ranked before b, minus that of b, over `n` pairs of different episodes (with
    `paired` False: episodes of both). `p` is adjusted over all pairs of agents; None where nothing can be tested, as
    `reason` says. `apart`: the two differ significantly."""

    a: str
    b: str
    value: float | None
    interval: Interval | None
    p: float | None
    reason: str | None
    apart: bool
    n: int
    paired: bool


@dataclass(frozen=True)
class Leaderboard:
    """Entries by score, the best first. `weights`: how much each task counts; they add up to 1. `caution`s are to be
    read before the numbers."""

    name: str
    tasks: tuple[str, ...]
    weights: Mapping[str, float]
    scoring: str
    unit: str
    level: float
    entries: tuple[Entry, ...]
    gaps: tuple[Gap, ...]
    cautions: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    runs: Mapping[str, str] = field(default_factory=dict)

    @property
    def terms(self) -> tuple[str, ...]:
        """Every term that counts for some agent, in the order of the tables."""
        return tuple(dict.fromkeys(term for entry in self.entries for term in entry.terms))
