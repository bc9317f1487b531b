"""Whether two agents are alike, up to a margin: two one-sided tests (Schuirmann 1987).

That a test finds no difference is no evidence that there is none. Here the burden is reversed: the difference is
assumed to be as large as the margin, on either side, until both are rejected. Both are at level alpha, so that agents
whose difference is the margin or more are called alike with probability alpha at most; the interval that goes with
it has level 1 - 2 alpha, and lies within the margin exactly where the agents are alike.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from proctor.stats.intervals import Discordance, Interval, check_alpha, check_count, tango, tango_score

NORMAL = NormalDist()


@dataclass(frozen=True, slots=True)
class Equivalence:
    """The difference of a minus b, against a margin. `p_value` is the larger one of the two tests', `interval` of level
    1 - 2 alpha; both None where there is nothing to test, as `method` says."""

    difference: float | None
    margin: float
    alpha: float
    p_value: float | None
    interval: Interval | None
    method: str

    @property
    def equivalent(self) -> bool:
        """Whether it is shown that the difference is smaller than the margin."""
        return self.p_value is not None and self.p_value <= self.alpha


def check_margin(margin: float) -> None:
    if not (margin > 0 and math.isfinite(margin)):
        raise ValueError(f"a margin of {margin:g}; it lies above 0, 0.05 for instance")


def equivalent_paired_rates(pairs: Discordance, margin: float, alpha: float = 0.05) -> Equivalence:
    """Success rates of paired trials, by the score test of a given difference (Tango 1998)."""
    check_margin(margin)
    check_alpha(alpha)
    if pairs.n == 0:
        return Equivalence(None, margin, alpha, None, None, "none: there are no pairs")
    difference = (pairs.only_a - pairs.only_b) / pairs.n

    def score(shift: float) -> float:
        return tango_score(pairs.only_a, pairs.only_b, pairs.n, shift)

    p_value = _worse_tail(score, margin) if margin < 1 else 0.0
    return Equivalence(difference, margin, alpha, p_value, tango(pairs, 1 - 2 * alpha), "two score tests of pairs")


def equivalent_rates(
    successes_a: int, n_a: int, successes_b: int, n_b: int, margin: float, alpha: float = 0.05
) -> Equivalence:
    """Success rates of independent trials, by the score test of a given difference (Miettinen and Nurminen 1985)."""
    check_margin(margin)
    check_alpha(alpha)
    check_count(successes_a, n_a)
    check_count(successes_b, n_b)
    if min(n_a, n_b) == 0:
        return Equivalence(None, margin, alpha, None, None, "none: an arm has no trial")
    arms = Arms(successes_a, n_a, successes_b, n_b)
    p_value = _worse_tail(arms.score, margin) if margin < 1 else 0.0
    return Equivalence(arms.difference, margin, alpha, p_value, arms.interval(1 - 2 * alpha), "two score tests")


def _worse_tail(score: Callable[[float], float], margin: float) -> float:
    """The larger p-value of the two tests; `score` is by how many standard errors what was seen lies above a
    difference."""
    return max(NORMAL.cdf(-score(-margin)), NORMAL.cdf(score(margin)))


@dataclass(frozen=True, slots=True)
class Arms:
    """Two independent arms of trials, and the score test of a given difference of their rates."""

    successes_a: int
    n_a: int
    successes_b: int
    n_b: int

    @property
    def difference(self) -> float:
        return self.successes_a / self.n_a - self.successes_b / self.n_b

    def score(self, shift: float) -> float:
        """How many standard errors what was seen lies above `shift`, with the variance of the likeliest rates that
        differ by it, and Miettinen and Nurminen's correction for few trials."""
        above = self.difference - shift
        rate_b = self.likeliest_rate(shift)
        rate_a, total = min(max(rate_b + shift, 0.0), 1.0), self.n_a + self.n_b
        variance = rate_a * (1 - rate_a) / self.n_a + rate_b * (1 - rate_b) / self.n_b
        if variance <= 1e-15:
            return 0.0 if abs(above) < 1e-12 else math.copysign(math.inf, above)
        return above / math.sqrt(variance * total / (total - 1))

    def likeliest_rate(self, shift: float) -> float:
        """Of b, where a's rate is higher by `shift`: the root of the likelihood's cubic that lies among the rates."""
        total, successes = self.n_a + self.n_b, self.successes_a + self.successes_b
        linear = (self.n_b * shift - total - 2 * self.successes_b) * shift + successes
        square = (self.n_a + 2 * self.n_b) * shift - total - successes
        bend = square**3 / (3 * total) ** 3 - square * linear / (6 * total**2)
        bend += self.successes_b * shift * (1 - shift) / (2 * total)
        root = math.copysign(math.sqrt(max(0.0, square**2 / (3 * total) ** 2 - linear / (3 * total))), bend)
        angle = math.acos(min(1.0, max(-1.0, bend / root**3))) if root else 0.0
        found = 2 * root * math.cos((math.pi + angle) / 3) - square / (3 * total)
        return min(max(found, max(0.0, -shift)), min(1.0, 1 - shift))

    def interval(self, level: float) -> Interval:
        """The differences that the test does not reject."""
        z = NORMAL.inv_cdf(0.5 + level / 2)
        return Interval(self._end(z, -1.0), self._end(-z, 1.0))

    def _end(self, z: float, end: float) -> float:
        inside, outside = self.difference, end
        for _ in range(60):
            centre = (inside + outside) / 2
            kept = abs(self.score(centre)) < abs(z)
            inside, outside = (centre, outside) if kept else (inside, centre)
        return end if abs(outside - end) < 1e-12 else (inside + outside) / 2


def equivalent_means(differences: np.ndarray, margin: float, alpha: float = 0.05) -> Equivalence:
    """Scores of paired trials, from their differences, by Student's test."""
    values = np.asarray(differences, dtype=np.float64)
    check_margin(margin)
    check_alpha(alpha)
    if len(values) < 2:
        gap = float(values[0]) if len(values) else None
        return Equivalence(gap, margin, alpha, None, None, "none: fewer than two pairs")
    error = float(values.std(ddof=1)) / math.sqrt(len(values))
    return _student(float(values.mean()), error, len(values) - 1, (margin, alpha), "two tests of Student's of pairs")


def equivalent_task_means(
    a: Sequence[np.ndarray], b: Sequence[np.ndarray], margin: float, alpha: float = 0.05
) -> Equivalence:
    """Scores of independent trials on the same tasks, an array for each: the mean over tasks of the differences of
    means, each task of equal weight, by Welch's test."""
    check_margin(margin)
    check_alpha(alpha)
    if not a or len(a) != len(b) or any(len(values) < 2 for values in (*a, *b)):
        return Equivalence(None, margin, alpha, None, None, "none: a task has fewer than two values of an agent")
    gap = float(np.mean([np.mean(one) - np.mean(other) for one, other in zip(a, b, strict=True)]))
    squares = np.array([np.var(values, ddof=1) / len(values) for values in (*a, *b)]) / len(a) ** 2
    freedoms = np.array([len(values) - 1 for values in (*a, *b)])
    spread = float((squares**2 / freedoms).sum())
    freedom = float(squares.sum()) ** 2 / spread if spread else 1.0
    return _student(gap, math.sqrt(squares.sum()), freedom, (margin, alpha), "two tests of Welch's, tasks alike")


def _student(gap: float, error: float, freedom: float, rule: tuple[float, float], method: str) -> Equivalence:
    from scipy.special import stdtr, stdtrit

    margin, alpha = rule
    if not error:
        return Equivalence(gap, margin, alpha, None, None, "none: the values do not vary")
    p_value = max(stdtr(freedom, -(gap + margin) / error), stdtr(freedom, (gap - margin) / error))
    half = error * float(stdtrit(freedom, 1 - alpha))
    return Equivalence(gap, margin, alpha, float(p_value), Interval(gap - half, gap + half), method)
