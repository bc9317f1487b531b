"""One test that is followed: results are noted in any order and read in that of their places. And what it came to."""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from proctor.config.models import StopCfg
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


MISSING, UNSCORED = math.nan, math.inf
"""What the board holds besides the values of trials."""

Seen = tuple[str, str, int, float | None]
"""What a test needs to know of a finished trial: agent, task, index, and its success or score; None where it has
none."""


class Watch(abc.ABC):
    """One test over the trials of one agent, or of two; one of `family` whose errors are counted together."""

    def __init__(self, agents: tuple[str, ...], rule: StopCfg, places: int, family: int = 1):
        self.agents, self.rule, self.family = agents, rule, family
        self.alpha = rule.alpha / family
        self.max_trials = rule.max_trials or places
        self.verdict, self.n, self.skipped, self.place = Verdict.GO_ON, 0, 0, 0
        self._board = {agent: np.full(places, MISSING) for agent in agents}

    @property
    def stopped(self) -> bool:
        return self.verdict is not Verdict.GO_ON

    def note(self, agent: str, place: int, value: float | None) -> None:
        self._board[agent][place] = UNSCORED if value is None else value

    def read_on(self) -> None:
        """Read up to the first gap or the stop."""
        if self.stopped:
            return
        rows = np.stack([column[self.place :] for column in self._board.values()])
        gaps = np.flatnonzero(np.isnan(rows).any(axis=0))
        rows = rows[:, : gaps[0]] if gaps.size else rows
        if rows.shape[1]:
            self._read(rows, np.all(np.isfinite(rows), axis=0))

    def _advance(self, scored: np.ndarray, used: int) -> None:
        """Count the first `used` of the scored places as read, and what was passed over up to the last of them; all
        of it where the test goes on."""
        stop = len(scored) if not self.stopped else int(np.flatnonzero(scored)[used - 1]) + 1
        self.n += used
        self.skipped += stop - used
        self.place += stop

    @abc.abstractmethod
    def _read(self, rows: np.ndarray, scored: np.ndarray) -> None:
        """Read columns of `rows` `(agents, places)` where `scored`, up to the stop."""

    def outcome(self) -> Stop:
        """What the test says so far."""
        return Stop(
            agents=self.agents,
            verdict=self.verdict,
            n=self.n,
            skipped=self.skipped,
            place=self.place,
            alpha=self.rule.alpha,
            max_trials=self.max_trials,
            family=self.family,
            **self._found(),
        )

    @abc.abstractmethod
    def _found(self) -> dict[str, Any]:
        """The fields of a `Stop` that are of this kind of test."""
