"""A gate for regressions: decided by the interval of the difference, never by the means."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from proctor.stats import Interval
from proctor.verdict.comparison.model import Measure, Pair


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


def decide(pair: Pair, measure: Measure, margin: float, level: float) -> Gate:
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
