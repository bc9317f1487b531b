"""Which of two agents scores higher."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from proctor.config.models import StopCfg
from proctor.stats import Verdict, centre_sequence
from proctor.stats.betting import SignBets
from proctor.verdict.stopping.watch import Watch


class Scores(Watch):
    """Two agents on the same seeds: bets on the signs of differences of scores. It stops where the bets have won
    1/alpha and the mean of the differences is on the side that they won on."""

    def __init__(self, agents: tuple[str, ...], rule: StopCfg, places: int, family: int = 1):
        super().__init__(agents, rule, places, family)
        self._bets, self._differences, self._total = SignBets(), list[float](), 0.0

    def _read(self, rows: np.ndarray, scored: np.ndarray) -> None:
        used = 0
        for difference in (rows[0, scored] - rows[1, scored]).tolist():
            used += 1
            wealth = self._bets.update(difference)
            self._differences.append(difference)
            self._total += difference
            agree = self._total > 0 if self._bets.for_a else self._total < 0
            if wealth >= -math.log(self.alpha) and agree:
                self.verdict = Verdict.DIFFERENT
            elif len(self._differences) == self.max_trials:
                self.verdict = Verdict.MAXIMUM
            if self.stopped:
                break
        self._advance(scored, used)

    def _found(self) -> dict[str, Any]:
        settled = self.verdict is Verdict.DIFFERENT
        return {
            "estimate": self._total / self.n if self.n else None,
            "interval": centre_sequence(np.array(self._differences), self.alpha),
            "method": "bets on the signs of paired differences",
            "better": self.agents[0 if self._total > 0 else 1] if settled else None,
            "measure": "score",
        }
