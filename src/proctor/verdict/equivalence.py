"""Whether agents are shown to be alike, up to a margin: decided by the interval of the difference, as the gate is.

Two one-sided tests at level alpha reject that the difference is as large as the margin exactly where the interval of
level 1 - 2 alpha lies within it (Schuirmann 1987).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from proctor.errors import InputError
from proctor.stats import Interval
from proctor.verdict.comparison.compare import Compared
from proctor.verdict.comparison.pairs import compare_pair
from proctor.verdict.estimand import Measure
from proctor.verdict.judging import JudgeCfg
from proctor.verdict.trials import AgentTrials
from proctor.verdict.unseen import widest_interval


class Alike(StrEnum):
    """What the trials show of two agents and a margin."""

    SHOWN = "equivalent"
    DIFFERENT = "different"
    OPEN = "not settled"


@dataclass(frozen=True, slots=True)
class Likeness:
    """`difference` and `interval` are a minus b. SHOWN: the interval lies within the margin, also with every trial
    that did not run or is unscored counted for either of the two. DIFFERENT: it lies outside of the margin. Else
    OPEN."""

    a: str
    b: str
    measure: Measure
    margin: float
    ruling: Alike
    difference: float | None
    interval: Interval | None
    level: float
    n: int
    n_unscored: int
    reason: str | None = None


def likenesses(found: Compared, measure: Measure, margin: float, baseline: str | None = None) -> list[Likeness]:
    """A ruling for every pair of agents, or with `baseline` for every other agent and that one. With several pairs
    each has a wider interval, so that the chance of calling any of them alike that is not stays what one has."""
    if not margin > 0:
        raise InputError(f"--equivalent {margin:g}: expected the largest difference that does not matter, above 0")
    pairs = [(pair.a, pair.b) for pair in found.comparison.pairs]
    if baseline is not None:
        pairs = [(agent.name, found.agent(baseline).name) for agent in found.agents if agent.name != baseline]
    level = 1 - 2 * (1 - found.judging.level) / max(1, len(pairs))
    if not level > 0:
        raise InputError(f"--level {found.judging.level:g}: expected more than 0.5 for --equivalent")
    judging = replace(found.judging, level=level)
    return [rule(found.agent(a), found.agent(b), measure, margin, judging) for a, b in pairs]


def rule(a: AgentTrials, b: AgentTrials, measure: Measure, margin: float, judging: JudgeCfg) -> Likeness:
    """The ruling on two agents."""
    pair = compare_pair(a, b, judging)
    found = pair.of(measure)
    widest = widest_interval(pair, a, b, measure, judging)
    ruling = Alike.OPEN
    if found.interval is not None and (found.interval.low > margin or found.interval.high < -margin):
        ruling = Alike.DIFFERENT
    elif widest is not None and -margin < widest.low and widest.high < margin:
        ruling = Alike.SHOWN
    return Likeness(
        a=pair.a,
        b=pair.b,
        measure=measure,
        margin=margin,
        ruling=ruling,
        difference=found.value,
        interval=found.interval,
        level=judging.level,
        n=min(pair.n_a, pair.n_b),
        n_unscored=pair.n_unscored,
        reason=found.reason,
    )
