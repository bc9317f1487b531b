"""One rate until the interval that holds at every look is narrow."""

from __future__ import annotations

from typing import Any

import numpy as np

from proctor.stats import Interval, Verdict, rate_sequence
from proctor.stats.sequences import log_likelihood, log_limit
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
