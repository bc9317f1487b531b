"""How many trials it takes to see a difference: a table of rates, from options or from what a run has seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from proctor import stats
from proctor.errors import InputError
from proctor.verdict.comparison import Pair
from proctor.verdict.comparison.compare import compare

RATES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
MOST_SIMULATED, MOST_PAIRS = 2_000, 10


@dataclass(frozen=True)
class Question:
    """A difference of success rates to be seen with `power`, at the error rate `alpha`. `correlation` is that of two
    agents' outcomes on one seed: 0 where seeds do not matter."""

    difference: float
    rates: tuple[float, ...] = RATES
    correlation: float = 0.5
    power: float = 0.8
    alpha: float = 0.05

    def check(self) -> None:
        """Raise InputError for what no test can answer."""
        wrong = [
            (not 0 < self.difference < 1, f"a difference of {self.difference:g}; expected one between 0 and 1"),
            (not 0 < self.power < 1, f"a power of {self.power:g}; expected one between 0 and 1, such as 0.8"),
            (not 0 < self.alpha < 1, f"an alpha of {self.alpha:g}; expected one between 0 and 1, such as 0.05"),
            (not -1 <= self.correlation <= 1, f"a correlation of {self.correlation:g}; expected one from -1 to 1"),
            (any(not 0 <= rate <= 1 for rate in self.rates), "a rate lies between 0 and 1, such as 0.8"),
        ]
        for bad, message in wrong:
            if bad:
                raise InputError(message)


@dataclass(frozen=True)
class Answer:
    """Trials per agent for one pair of rates. `differing` is the share of seeds on which outcomes differ; `usual` the
    mean number of pairs after which the sequential test stops. `seen`: from which agents, None from options."""

    rate_a: float
    rate_b: float
    differing: float
    paired: stats.SampleSize
    unpaired: stats.SampleSize
    sequential: stats.SampleSize
    usual: float | None
    seen: tuple[str, str] | None = None


def answers(question: Question) -> list[Answer]:
    """One for every rate that leaves room for the difference, the better agent's being that rate plus it."""
    question.check()
    rates = [rate for rate in question.rates if rate + question.difference <= 1 + 1e-12]
    if not rates:
        raise InputError(f"no rate leaves room for a difference of {question.difference:g} above it; lower the rates")
    return [_answer(question, min(1.0, rate + question.difference), rate) for rate in rates]


def answers_for_run(
    path: str | Path, difference: float | None, question: Question, *, trust: bool = False
) -> list[Answer]:
    """For every pair of a run's agents (the first MOST_PAIRS of them): how many trials would show the difference that
    was seen, or `difference` where it is given, with the share of differing seeds that was seen. `trust`: code
    that the run is scored with may be imported, whoever wrote it."""
    found = []
    for pair in compare([path], trust=trust).comparison.pairs[:MOST_PAIRS]:
        if (ends := _ends(pair, difference)) is not None:
            counts = pair.discordance
            share = (counts.only_a + counts.only_b) / counts.n if counts and counts.n else None
            found.append(_answer(question, *ends, share, (pair.a, pair.b)))
    if not found:
        raise InputError(f"no two agents of {path} differ in success; say which difference matters: --difference 0.1")
    return found


def _ends(pair: Pair, difference: float | None) -> tuple[float, float] | None:
    """The better rate and the lesser one; the lesser one as it was seen, where a difference is asked for."""
    seen = sorted(rate for rate in (pair.success.value_a, pair.success.value_b) if rate is not None)
    if len(seen) < 2:
        return None
    low, high = seen
    if difference is not None:
        low = min(low, 1 - difference)
        high = low + difference
    return (high, low) if high > low else None


def _answer(
    question: Question, high: float, low: float, differing: float | None = None, seen: tuple[str, str] | None = None
) -> Answer:
    gap = high - low
    share = stats.expected_discordance(high, low, question.correlation) if differing is None else differing
    share = min(1.0, max(share, gap))
    paired = stats.trials_paired(gap, share, question.power, question.alpha)
    sequential = stats.trials_sequential(gap, share, question.power, question.alpha)
    simulated = sequential.n is not None and sequential.n <= MOST_SIMULATED
    usual = stats.sequential_power(sequential.n or 1, gap, share, question.alpha)[1] if simulated else None
    unpaired = stats.trials_unpaired(high, low, question.power, question.alpha)
    return Answer(high, low, share, paired, unpaired, sequential, usual, seen)


def as_rows(found: Sequence[Answer]) -> list[dict[str, object]]:
    """The answers as rows of plain values, which `proctor power --json` prints."""
    return [
        {
            "agents": list(answer.seen) if answer.seen else None,
            "rate": answer.rate_b,
            "better_rate": answer.rate_a,
            "differing_seeds": answer.differing,
            "paired": answer.paired.n,
            "unpaired": answer.unpaired.n,
            "sequential_maximum": answer.sequential.n,
            "sequential_usual": answer.usual,
            "methods": {kind: getattr(answer, kind).method for kind in ("paired", "unpaired", "sequential")},
        }
        for answer in found
    ]
