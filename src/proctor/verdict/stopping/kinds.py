"""The three kinds of test: the rate of one agent, and which of two agents succeeds more often or scores higher."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from proctor.config.models import StopCfg
from proctor.stats import Interval, SpendingTest, Verdict, centre_sequence, conditional_power, rate_sequence
from proctor.stats.betting import SignBets, log_likelihood, log_limit
from proctor.stats.spending import futility_looks
from proctor.verdict.stopping.watch import Watch


class Precision(Watch):
    """One rate until the interval that holds at every look is narrow."""

    successes = 0

    def _read(self, rows: np.ndarray, scored: np.ndarray) -> None:
        assert self.rule.interval_width is not None
        outcomes = rows[0, scored][: self.max_trials - self.n] > 0
        successes = self.successes + np.cumsum(outcomes, dtype=np.int64)
        looks = self.n + np.arange(1, len(outcomes) + 1)
        narrow = first_narrow(successes, looks, self.alpha, self.rule.interval_width)
        used = len(outcomes) if narrow is None else narrow + 1
        if narrow is not None:
            self.verdict = Verdict.PRECISE
        elif self.n + used == self.max_trials:
            self.verdict = Verdict.MAXIMUM
        self.successes = int(successes[used - 1]) if used else self.successes
        self._advance(scored, used)

    def _found(self) -> dict[str, Any]:
        low, high = rate_sequence(np.asarray(self.successes), np.asarray(self.n), self.alpha)
        return {
            "estimate": self.successes / self.n if self.n else None,
            "interval": Interval(float(low), float(high)),
            "method": "confidence sequence",
            "width": self.rule.interval_width,
        }


def first_narrow(successes: np.ndarray, n: np.ndarray, alpha: float, width: float) -> int | None:
    """The first look whose confidence sequence is at most `width` wide; None where there is none. Most looks are ruled
    out by the likelihood at four points: an interval of that width reaches neither a whole width to either side of
    the observed rate, nor half a width to both."""
    far = _outside(successes, n, alpha, -width) & _outside(successes, n, alpha, width)
    near = _outside(successes, n, alpha, -width / 2) | _outside(successes, n, alpha, width / 2)
    for part in np.array_split(candidates := np.flatnonzero(far & near), len(candidates) // 1024 + 1):
        low, high = rate_sequence(successes[part], n[part], alpha)
        found = np.flatnonzero(high - low <= width)
        if found.size:
            return int(part[found[0]])
    return None


def _outside(successes: np.ndarray, n: np.ndarray, alpha: float, by: float) -> np.ndarray:
    """Whether the rate this far from the observed one is outside of the confidence sequence or no rate."""
    point = successes / n + by
    likelihood = log_likelihood(successes, n, np.clip(point, 0, 1))
    return (likelihood <= log_limit(successes, n, alpha) + 1e-9) | (point < 0) | (point > 1)


class Rates(Watch):
    """Two agents on the same seeds: alpha spending with a declared maximum. With `futility` it stops also where a
    settled difference has become unlikely, which is looked at after some tenths of the maximum."""

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
