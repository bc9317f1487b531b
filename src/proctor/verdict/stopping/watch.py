"""One test that is followed: results are noted in any order and read in that of their places."""

from __future__ import annotations

import abc
import math
from typing import Any

import numpy as np

from proctor.config.models import StopCfg
from proctor.stats import Verdict
from proctor.verdict.stopping.outcome import Stop

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
