"""Which of two agents succeeds more often, with a declared maximum."""

from __future__ import annotations

from typing import Any

import numpy as np

from proctor.config.models import StopCfg
from proctor.stats import SpendingTest, Verdict, conditional_power
from proctor.stats.futility import futility_looks
from proctor.verdict.stopping.watch import Watch


class Rates(Watch):
    """Two agents on the same seeds: alpha spending. With `futility` it stops also where a settled difference has become
    unlikely, which is looked at after some tenths of the maximum."""

    def __init__(self, agents: tuple[str, ...], rule: StopCfg, places: int, family: int = 1):
        super().__init__(agents, rule, places, family)
        self._test = SpendingTest(self.max_trials, self.alpha, rule.spend)
        self._looks = futility_looks(self.max_trials) if rule.futility is not None else frozenset[int]()
        self._steps: list[int] = []
        self._chance: float | None = None

    def _read(self, rows: np.ndarray, scored: np.ndarray) -> None:
        used = 0
        for a, b in (rows[:, scored] > 0).T.tolist():
            used += 1
            if self._update(a, b) is not Verdict.GO_ON:
                break
        self._advance(scored, used)

    def _update(self, a: bool, b: bool) -> Verdict:
        self.verdict = self._test.update(a, b).verdict
        self._steps.append(int(a) - int(b))
        if not self.stopped and self._test.decision.n in self._looks:
            self._chance = conditional_power(np.array(self._steps), self.max_trials, self.alpha, self.rule.spend)
            if self._chance < (self.rule.futility or 0):
                self.verdict = Verdict.FUTILE
        return self.verdict

    def _found(self) -> dict[str, Any]:
        pairs, better = self._test.pairs, self._test.decision.better
        return {
            "estimate": (pairs.only_a - pairs.only_b) / self.n if self.n else None,
            "interval": self._test.interval(),
            "method": f"exact alpha spending on pairs of one seed, {self.rule.spend}",
            "better": None if better is None else self.agents["ab".index(better)],
            "pairs": pairs,
            "futility": self.rule.futility,
            "chance": self._chance,
        }
