"""A gate for regressions: decided by the interval of the difference, never by the means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from proctor.errors import InputError
from proctor.stats import Interval
from proctor.verdict.comparison.compare import Compared
from proctor.verdict.comparison.pairs import compare_pair
from proctor.verdict.estimand import Measure
from proctor.verdict.judging import JudgeCfg
from proctor.verdict.trials import AgentTrials
from proctor.verdict.unseen import unseen_tasks, widest_interval


class Ruling(StrEnum):
    """What the trials show of a new agent against its base."""

    WORSE = "worse"
    NOT_WORSE = "not worse"
    OPEN = "not settled"


@dataclass(frozen=True, slots=True)
class Gate:
    """`difference` and `interval` are new minus base. WORSE: the whole interval lies below -margin. NOT_WORSE: it lies
    above, also with every trial that did not run or is unscored counted against the new agent (`worst_low`). Else OPEN.
    `lacking`: the tasks that have such trials, or were not run at all."""

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
    lacking: tuple[str, ...] = ()

    def failed(self, require_proof: bool) -> bool:
        return self.ruling is Ruling.WORSE or (require_proof and self.ruling is Ruling.OPEN)


def rule_on(
    new: AgentTrials,
    base: AgentTrials,
    measure: Measure,
    margin: float,
    judging: JudgeCfg,
    left_out: Sequence[str] = (),
) -> Gate:
    """The ruling on an agent against its base. `left_out`: tasks that one of them was not tried on."""
    pair = compare_pair(new, base, judging)
    found = pair.of(measure)
    widest = widest_interval(pair, new, base, measure, judging)
    low = None if widest is None else widest.low
    lacking = (*unseen_tasks(new, base), *left_out)
    if found.interval is None:
        ruling = Ruling.OPEN
    elif found.interval.high < -margin:
        ruling = Ruling.WORSE
    else:
        proven = low is not None and low >= -margin and not left_out
        ruling = Ruling.NOT_WORSE if proven else Ruling.OPEN
    return Gate(
        base=base.name,
        new=new.name,
        measure=measure,
        margin=margin,
        ruling=ruling,
        difference=found.value,
        interval=found.interval,
        worst_low=low,
        level=judging.level,
        n=min(pair.n_a, pair.n_b),
        reason=found.reason,
        lacking=lacking,
    )


def gates(found: Compared, measure: Measure, margin: float, baseline: str | None = None) -> list[Gate]:
    """A ruling for every new agent: those of the second run against their namesakes in the first (or its only agent
    against the first's); with `baseline`, every other agent against that one. With several, each has a wider interval,
    so that the chance of any false alarm stays what one alone would have."""
    if not margin >= 0:
        raise InputError(f"--fail-if-worse {margin:g}: expected how much worse is tolerated, 0 or more")
    matches = _matches(found, baseline)
    judging = replace(found.judging, level=1 - (1 - found.judging.level) / len(matches))
    sides = [(found.agent(base), found.agent(new)) for base, new in matches]
    return [rule_on(new, base, measure, margin, judging, found.left_out) for base, new in sides]


def _matches(found: Compared, baseline: str | None) -> list[tuple[str, str]]:
    """The names of the agents that are held against each other, as (base, new)."""
    names = list(found.origin)
    if baseline is not None:
        return [(found.agent(baseline).name, name) for name in names if name != baseline]
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
