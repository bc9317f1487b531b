"""What the test behind a `stop_when` came to."""

from __future__ import annotations

from dataclasses import dataclass

from proctor.stats import Discordance, Interval, Verdict


@dataclass(frozen=True, slots=True)
class Stop:
    """How far a test has read and what it says. `agents` are the two that are compared, or the one whose rate is
    measured. `n` counts pairs (trials, for one agent) that were read, `skipped` those that were passed over because
    a trial is unscored. `estimate` is rate a minus rate b, or the rate; None before anything was read. `interval`
    holds it with probability 1 - `alpha` although the test may have stopped at any look. Places from `place` on come
    after the stop."""

    agents: tuple[str, ...]
    verdict: Verdict
    n: int
    skipped: int
    place: int
    estimate: float | None
    interval: Interval
    alpha: float
    max_trials: int
    method: str
    better: str | None = None
    pairs: Discordance | None = None
    width: float | None = None

    @property
    def settled(self) -> bool:
        """Whether the test has stopped, so that no further trial of these agents is needed."""
        return self.verdict is not Verdict.GO_ON
