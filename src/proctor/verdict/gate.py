"""A gate for regressions: decided by the interval of the difference, never by the means."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from proctor.errors import InputError
from proctor.stats import Interval
from proctor.verdict.comparison.compare import Compared
from proctor.verdict.comparison.model import Measure, Pair
from proctor.verdict.comparison.pairs import compare_pair


class Ruling(StrEnum):
    """What the trials show of a new agent against its base."""

    WORSE = "worse"
    NOT_WORSE = "not worse"
    OPEN = "not settled"


@dataclass(frozen=True, slots=True)
class Gate:
    """`difference` and `interval` are new minus base. WORSE: the whole interval lies below -margin. NOT_WORSE: it lies
    above, also with every unscored trial counted against the new agent (`worst_low`). Else OPEN."""

    base: str
    new: str
    measure: Measure
    margin: float
    ruling: Ruling
    difference: float | None
    interval: Interval | None
    worst_low: float | None
    level: float
    n: int
    reason: str | None = None

    def failed(self, require_proof: bool) -> bool:
        return self.ruling is Ruling.WORSE or (require_proof and self.ruling is Ruling.OPEN)


def rule_on(pair: Pair, measure: Measure, margin: float, level: float) -> Gate:
    """The ruling on `pair.a`, the new agent, against `pair.b`. `level` is the one that `pair` was computed at."""
    found = pair.of(measure)
    low = _worst_low(pair, measure)
    if found.interval is None:
        ruling = Ruling.OPEN
    elif found.interval.high < -margin:
        ruling = Ruling.WORSE
    else:
        ruling = Ruling.NOT_WORSE if low is not None and low >= -margin else Ruling.OPEN
    return Gate(
        base=pair.b,
        new=pair.a,
        measure=measure,
        margin=margin,
        ruling=ruling,
        difference=found.value,
        interval=found.interval,
        worst_low=low,
        level=level,
        n=min(pair.n_a, pair.n_b),
        reason=found.reason,
    )


def _worst_low(pair: Pair, measure: Measure) -> float | None:
    """The low end, moved down by what the difference would be less with every unscored trial counted against a; None
    where that cannot be known, as for scores."""
    found = pair.of(measure)
    interval = found.interval
    if not pair.n_unscored or interval is None:
        return None if interval is None else interval.low
    if found.bounds is None or found.value is None:
        return None
    return interval.low - max(0.0, found.value - found.bounds.low)


def gates(found: Compared, measure: Measure, margin: float, baseline: str | None = None) -> list[Gate]:
    """A ruling for every new agent: those of the second run against their namesakes in the first (or its only agent
    against the first's); with `baseline`, every other agent against that one. With several, each has a wider interval,
    so that the chance of any false alarm stays what one alone would have."""
    if not margin >= 0:
        raise InputError(f"--fail-if-worse {margin:g}: expected how much worse is tolerated, 0 or more")
    matches = _matches(found, baseline)
    judging = replace(found.judging, level=1 - (1 - found.judging.level) / len(matches))
    by_name = {agent.name: agent for agent in found.agents}
    rulings = []
    for base, new in matches:
        empty = [name for name in (base, new) if not by_name[name].n]
        if empty:
            raise InputError(f"{empty[0]} has no scored trial; there is nothing to decide by")
        pair = compare_pair(by_name[new], by_name[base], judging)
        rulings.append(rule_on(pair, measure, margin, judging.level))
    return rulings


def _matches(found: Compared, baseline: str | None) -> list[tuple[str, str]]:
    """The names of the agents that are held against each other, as (base, new)."""
    names = list(found.origin)
    if baseline is not None:
        if baseline not in names:
            raise InputError(f'no agent "{baseline}"; expected one of {", ".join(names)}')
        return [(baseline, name) for name in names if name != baseline]
    if len(found.runs) != 2:
        raise InputError("--fail-if-worse needs two runs, BASE and NEW, or --baseline AGENT")
    bases, news = ({own: name for name, (run, own) in found.origin.items() if run == which} for which in (0, 1))
    same = [(bases[own], news[own]) for own in news if own in bases]
    if not same and len(bases) == len(news) == 1:
        same = [(next(iter(bases.values())), next(iter(news.values())))]
    if not same:
        raise InputError(
            f"no agent of the second run is named like one of the first ({', '.join(bases)} and {', '.join(news)}); "
            "name the one to compare with: --baseline AGENT"
        )
    return same
