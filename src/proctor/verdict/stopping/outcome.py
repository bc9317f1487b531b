"""What the test behind a `stop_when` came to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from proctor.stats import Discordance, Interval, Verdict


@dataclass(frozen=True, slots=True)
class Stop:
    """How far a test has read and what it says. `agents` are the two that are compared, or the one whose rate is
    measured. `n` counts pairs (trials, for one agent) that were read, `skipped` those that were passed over because
    a trial is unscored. `estimate` is a minus b, of rates or of mean scores, or the rate; None before anything was
    read. `interval` holds it (for scores: the centre of the differences) although the test may have stopped at any
    look; None where there is none yet. One of `family` tests: the chance of any false difference among them is at
    most `alpha`, and all their intervals hold with probability 1 - `alpha`. Places from `place` on come after the
    stop. `chance`: of settling the difference by the maximum, when that was last looked at; `futility` is its limit."""

    agents: tuple[str, ...]
    verdict: Verdict
    n: int
    skipped: int
    place: int
    estimate: float | None
    interval: Interval | None
    alpha: float
    max_trials: int
    method: str
    better: str | None = None
    pairs: Discordance | None = None
    width: float | None = None
    measure: Literal["success", "score"] = "success"
    family: int = 1
    futility: float | None = None
    chance: float | None = None

    @property
    def settled(self) -> bool:
        """Whether the test has stopped, so that no further trial is needed for it."""
        return self.verdict is not Verdict.GO_ON
