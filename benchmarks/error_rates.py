"""How often intervals miss and tests err, by simulation of data whose truth is known.

A case draws one sample of size n with a generator and says whether the interval held the truth, or whether the test
found what is not there. `benchmarks.statistics_tables` runs them all and writes docs/statistics.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from proctor.stats import (
    MEDIAN,
    Discordance,
    Interval,
    Resampling,
    SpendingTest,
    TestResult,
    Units,
    bootstrap,
    bootstrap_mean,
    centre_sequence,
    compare_rates,
    discordance,
    equivalent_means,
    equivalent_paired_rates,
    equivalent_rates,
    mcnemar,
    mean_estimate,
    mean_sequence,
    newcombe,
    paired_test,
    posterior,
    rate_interval,
    rate_sequence,
    sign_flip,
    simultaneous_intervals,
    skewed_interval,
    student_t,
    tango,
    unpaired_test,
    wilson,
)
from proctor.stats.betting import log_wealth, log_wealth_rates
from proctor.stats.equivalence import Arms
from proctor.stats.spending import Spend, simulate_spending

Draw = Callable[[np.random.Generator, int], bool]
RATE, SHARED, MARGIN = 0.8, 0.5, 0.1
"""The success rate of all agents, the share of seeds that decides for both at once, and the margin of equivalence."""
QUICK = Resampling(1000, threads=1)


@dataclass(frozen=True)
class Case:
    """`costly` ones are drawn a fifth as often."""

    name: str
    of: str
    draw: Draw
    costly: bool = False

    def share(self, n: int, draws: int) -> float:
        """How often it came out true."""
        many = max(2, draws // 5) if self.costly else draws
        rng = np.random.default_rng([n, *self.name.encode()])
        return sum(self.draw(rng, n) for _ in range(many)) / many


def holds(found: Interval | None, truth: float) -> bool:
    """Without an interval nothing wrong was said."""
    return found is None or found.low <= truth <= found.high


def won(rng: np.random.Generator, n: int, rate: float = RATE) -> np.ndarray:
    return rng.random(n) < rate


def paired(rng: np.random.Generator, n: int, gap: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Outcomes of two agents whose rates differ by `gap`; some seeds decide for both."""
    one, other = rng.random((2, n))
    other = np.where(rng.random(n) < SHARED, one, other)
    return one < RATE, other < RATE - gap


def scores(rng: np.random.Generator, n: int) -> np.ndarray:
    """Skewed, between 0 and 1, with a mean of 2/3."""
    return rng.beta(2, 1, n)


def counts(rng: np.random.Generator, n: int) -> tuple[int, int, int, int]:
    return int(won(rng, n).sum()), n, int(won(rng, n).sum()), n


def _all_pairs(rng: np.random.Generator, n: int) -> bool:
    values = rng.normal(size=(n, 1)) + rng.normal(size=(n, 5))
    pairs = [values[:, i] - values[:, j] for i, j in combinations(range(5), 2)]
    return all(holds(found, 0.0) for found in simultaneous_intervals(pairs, 0.95, QUICK).intervals)


def _rate_at_every_look(rng: np.random.Generator, n: int) -> bool:
    low, high = rate_sequence(np.cumsum(won(rng, n)), np.arange(1, n + 1))
    return bool(((low <= RATE) & (high >= RATE)).all())


def _after_stopping(rng: np.random.Generator, n: int) -> bool:
    test = SpendingTest(n)
    for a, b in zip(won(rng, n, 0.85), won(rng, n, 0.6), strict=True):
        if test.update(bool(a), bool(b)).stop:
            break
    return holds(test.interval(), 0.25)


def one_task(values: np.ndarray) -> Units:
    return Units.of([values], [np.arange(len(values))], [1.0])


def _rare_disasters(rng: np.random.Generator, n: int, limits: Interval | None) -> bool:
    """Scores near 1, one in twenty near 0."""
    values = np.where(rng.random(n) < 0.05, rng.beta(1, 20, n), rng.beta(30, 1, n))
    found = mean_estimate(one_task(values), 0.95, QUICK, limits)
    return holds(found.interval, 0.95 * 30 / 31 + 0.05 / 21)


def _median_over_tasks(rng: np.random.Generator, n: int) -> bool:
    """Seven tasks whose means are 0.1 apart, so that the median may jump from one to the next."""
    tasks = [rng.normal(mean, 1.0, n) for mean in np.linspace(-0.3, 0.3, 7)]
    return holds(bootstrap(tasks, MEDIAN, resampling=QUICK).interval, 0.0)


def alike_tasks(rng: np.random.Generator, n: int) -> Units:
    """Ten tasks on the same n seeds, with a correlation of 0.3 between the tasks of a seed."""
    values = math.sqrt(0.3) * rng.normal(size=(n, 1)) + math.sqrt(0.7) * rng.normal(size=(n, 10))
    return Units.of(list(values.T), [np.arange(n)] * 10, [0.1] * 10)


def _shared_seeds(rng: np.random.Generator, n: int) -> bool:
    units = alike_tasks(rng, n)
    won = Units.of([values > 0 for values in units.values], list(units.seeds), list(units.shares))
    return holds(rate_interval(won, 0.95), 0.5)


COVERAGE = (
    Case("Wilson", "success rate 0.8", lambda rng, n: holds(wilson(int(won(rng, n).sum()), n), RATE)),
    Case(
        "Jeffreys' posterior",
        "success rate 0.8",
        lambda rng, n: holds(posterior(int(won(rng, n).sum()), n).interval(), RATE),
    ),
    Case("Newcombe", "rates 0.8 and 0.8, independent", lambda rng, n: holds(newcombe(*counts(rng, n)), 0)),
    Case(
        "Miettinen and Nurminen",
        "rates 0.8 and 0.8, independent",
        lambda rng, n: holds(Arms(*counts(rng, n)).interval(0.95), 0),
    ),
    Case("Tango", "rates 0.8 and 0.8, paired", lambda rng, n: holds(tango(discordance(*paired(rng, n))), 0)),
    Case("Student", "mean of beta(2, 1) scores", lambda rng, n: holds(student_t(scores(rng, n)), 2 / 3)),
    Case(
        "bootstrap",
        "mean of beta(2, 1) scores",
        lambda rng, n: holds(bootstrap_mean([scores(rng, n)], resampling=QUICK).interval, 2 / 3),
    ),
    Case(
        "bootstrap, opened",
        "scores of 0 to 1, one in twenty a disaster",
        lambda rng, n: _rare_disasters(rng, n, Interval(0.0, 1.0)),
    ),
    Case(
        "not to be done: bootstrap alone",
        "scores of 0 to 1, one in twenty a disaster",
        lambda rng, n: _rare_disasters(rng, n, None),
    ),
    Case("bootstrap, at least Student", "median over 7 tasks of n trials, 0.1 apart", _median_over_tasks),
    Case("Wilson, combined by seed", "10 tasks alike on n seeds, rate 0.5", _shared_seeds),
    Case(
        "Student, corrected for skewness",
        "mean of exponential differences",
        lambda rng, n: holds(skewed_interval(rng.exponential(size=n), 0.95), 1.0),
    ),
    Case("simultaneous", "10 differences of 5 agents, all at once", _all_pairs, costly=True),
    Case("rate sequence", "success rate 0.8, at every look", _rate_at_every_look),
    Case(
        "mean sequence",
        "mean of beta(2, 1) scores, looked at once",
        lambda rng, n: holds(mean_sequence(scores(rng, n), 0, 1), 2 / 3),
        costly=True,
    ),
    Case(
        "centre sequence",
        "normal differences, looked at once",
        lambda rng, n: holds(centre_sequence(rng.normal(0.3, 1, n)), 0.3),
        costly=True,
    ),
    Case("alpha spending", "rates 0.85 and 0.6, after the stop", _after_stopping),
)


def _spending(rng: np.random.Generator, n: int, spend: Spend) -> bool:
    a, b = paired(rng, n)
    return bool(simulate_spending((a.astype(int) - b)[None], n, 0.05, spend)[0] != 0)


def _peeking(rng: np.random.Generator, n: int) -> bool:
    """McNemar's test after every pair, stopped at the first p at most 0.05: what no test of this page does."""
    a, b = paired(rng, n)
    ahead, behind = np.cumsum(a & ~b), np.cumsum(b & ~a)
    return any(mcnemar(int(i), int(j)).p_value <= 0.05 for i, j in {*zip(ahead.tolist(), behind.tolist(), strict=True)})


def _three_agents(rng: np.random.Generator, n: int) -> bool:
    values = [won(rng, n).astype(int) for _ in range(3)]
    steps = np.array([a - b for a, b in combinations(values, 2)])
    return bool((simulate_spending(steps, n, 0.05 / 3) != 0).any())


def _alike_pairs(rng: np.random.Generator, n: int) -> bool:
    return equivalent_paired_rates(Discordance(*discordance(*paired(rng, n, MARGIN))), MARGIN).equivalent


def _alike_rates(rng: np.random.Generator, n: int) -> bool:
    a, b = won(rng, n), won(rng, n, RATE - MARGIN)
    return equivalent_rates(int(a.sum()), n, int(b.sum()), n, MARGIN).equivalent


def rejects(found: TestResult | None) -> bool:
    return found is not None and found.p_value <= 0.05


FALSE_ALARMS = (
    Case(
        "McNemar, once", "success, paired", lambda rng, n: mcnemar(*discordance(*paired(rng, n))[1:3]).p_value <= 0.05
    ),
    Case(
        "Barnard, once",
        "success, independent",
        lambda rng, n: compare_rates(*counts(rng, n)).p_value <= 0.05,
        costly=True,
    ),
    Case(
        "sign flips, once",
        "normal differences",
        lambda rng, n: sign_flip(rng.normal(size=n), Resampling(499)).p_value <= 0.05,
    ),
    Case(
        "sign flips and Student, corrected for skewness",
        "exponential differences",
        lambda rng, n: rejects(paired_test(one_task(rng.exponential(size=n) - 1), Resampling(499))),
    ),
    Case(
        "not to be done: sign flips alone",
        "exponential differences",
        lambda rng, n: sign_flip(rng.exponential(size=n) - 1, Resampling(499)).p_value <= 0.05,
    ),
    Case(
        "the same, by seed",
        "10 tasks alike on n seeds",
        lambda rng, n: rejects(paired_test(alike_tasks(rng, n), Resampling(499))),
    ),
    Case(
        "not to be done: pairs as independent",
        "10 tasks alike on n seeds",
        lambda rng, n: rejects(paired_test(one_task(np.concatenate(alike_tasks(rng, n).values)), Resampling(499))),
    ),
    Case(
        "studentised permutation",
        "normal scores, n and 2 n, spread 3 : 1",
        lambda rng, n: rejects(
            unpaired_test(one_task(rng.normal(0, 3, n)), one_task(rng.normal(size=2 * n)), Resampling(499))
        ),
    ),
    Case("equivalence, once", "success, paired, 10 points apart", _alike_pairs),
    Case("equivalence, once", "success, independent, 10 points apart", _alike_rates),
    Case(
        "equivalence, once",
        "normal differences, mean at the margin",
        lambda rng, n: equivalent_means(rng.normal(0.5, 1, n), 0.5).equivalent,
    ),
    Case("alpha spending, late", "success, paired, at every look", lambda rng, n: _spending(rng, n, "late")),
    Case("alpha spending, even", "success, paired, at every look", lambda rng, n: _spending(rng, n, "even")),
    Case("alpha spending, late", "any pair of three agents, at every look", _three_agents),
    Case(
        "bets on signs",
        "normal differences, at every look",
        lambda rng, n: log_wealth(rng.normal(size=n)).max() >= math.log(20),
    ),
    Case(
        "bets on signs",
        "Cauchy differences, at every look",
        lambda rng, n: log_wealth(rng.standard_cauchy(n)).max() >= math.log(20),
    ),
    Case(
        "bets on two rates",
        "success, independent, at every look",
        lambda rng, n: log_wealth_rates(won(rng, n), won(rng, n)).max() >= math.log(20),
    ),
    Case("not to be done: McNemar", "success, paired, p <= 0.05 at any look", _peeking),
)
