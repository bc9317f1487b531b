"""What a sequential test says after each trial."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, Protocol

from proctor.stats.intervals import Discordance, Interval

Better = Literal["a", "b"]


class Verdict(StrEnum):
    """Why a test goes on, or stopped."""

    GO_ON = "not settled yet"
    DIFFERENT = "the difference is settled"
    MAXIMUM = "the maximum number of trials was reached without a settled difference"
    PRECISE = "the interval is as narrow as asked for"


@dataclass(frozen=True, slots=True)
class Decision:
    """After `n` trials (pairs of trials, where two agents are compared)."""

    verdict: Verdict
    n: int
    better: Better | None = None

    @property
    def stop(self) -> bool:
        return self.verdict is not Verdict.GO_ON


class PairTest(Protocol):
    """A sequential test of two rates that may be looked at after every pair of outcomes."""

    @property
    def decision(self) -> Decision: ...

    @property
    def pairs(self) -> Discordance: ...

    def update(self, a: bool, b: bool) -> Decision: ...

    def interval(self) -> Interval: ...


@dataclass(slots=True)
class PairCounter:
    """The outcomes of the pairs that were added so far."""

    both: int = 0
    only_a: int = 0
    only_b: int = 0
    neither: int = 0

    def add(self, a: bool, b: bool) -> int:
        """Counts the pair; 1 where only a succeeded, -1 where only b, else 0."""
        self.both += a and b
        self.only_a += a and not b
        self.only_b += b and not a
        self.neither += not (a or b)
        return int(a) - int(b)

    @property
    def frozen(self) -> Discordance:
        return Discordance(self.both, self.only_a, self.only_b, self.neither)


def check_alpha(alpha: float) -> None:
    if not 0 < alpha < 1:
        raise ValueError(f"an error rate of {alpha:g}; it lies between 0 and 1, 0.05 for instance")


def beyond_zero(interval: Interval, decision: Decision) -> Interval:
    """The interval on the side of 0 that the test decided for: interval and test never contradict each other."""
    if decision.better == "a":
        return Interval(max(0.0, interval.low), interval.high)
    if decision.better == "b":
        return Interval(interval.low, min(0.0, interval.high))
    return interval
