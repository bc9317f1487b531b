"""Rulings up to a margin: a gate for regressions, and whether agents are shown to be alike.

Both are decided by the interval of the difference, never by the means. Two one-sided tests at level alpha reject that
the difference is as large as the margin exactly where the interval of level 1 - 2 alpha lies within it (Schuirmann
1987). A proof must hold whatever the trials of which nothing is known would have been: those that were planned and did
not run, and those that are unscored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from proctor.errors import InputError
from proctor.stats import Interval
from proctor.verdict.comparison.compare import Compared
from proctor.verdict.comparison.model import Pair
from proctor.verdict.comparison.pairs import compare_pair
from proctor.verdict.estimand import RATE, JudgeCfg, Measure
from proctor.verdict.trials import AgentTrials, TaskTrials


def unseen_tasks(a: AgentTrials, b: AgentTrials) -> list[str]:
    """The tasks on which one of the two has such trials."""
    tried = {task: [agent.tasks[task] for agent in (a, b) if task in agent.tasks] for task in a.tasks}
    return [task for task, own in tried.items() if any(len(one.unscored) or len(one.missing) for one in own)]


def widest_interval(pair: Pair, a: AgentTrials, b: AgentTrials, measure: Measure, judging: JudgeCfg) -> Interval | None:
    """From the low end of the interval of a minus b with everything counted against a, to its high end with everything
    counted for it; the interval itself where all is known. None where the scoring does not say how bad a score can
    be."""
    if not unseen_tasks(a, b):
        return pair.of(measure).interval
    limits = RATE if measure == "success" else judging.limits
    if limits is None:
        return None
    ends = []
    for of_a, of_b in ((limits.low, limits.high), (limits.high, limits.low)):
        left, right = (
            replace(
                agent,
                tasks={name: _filled(trials, measure, value) for name, trials in agent.tasks.items()},
                pairs=agent.pairs and pair.paired,
            )
            for agent, value in ((a, of_a), (b, of_b))
        )
        ends.append(compare_pair(left, right, judging).of(measure).interval)
    against, in_favour = ends
    return None if against is None or in_favour is None else Interval(against.low, in_favour.high)


def _filled(trials: TaskTrials, measure: Measure, value: float) -> TaskTrials:
    """As if every trial of which nothing is known had come to this value. Seeds that are known stay together; a trial
    that never ran has the seed of its index, as all trials of a plan have."""
    unseen = np.concatenate([trials.unscored, trials.missing])
    success = np.concatenate([trials.success, np.full(len(unseen), measure == "success" and value > 0)])
    score = np.concatenate([trials.score, np.full(len(unseen), value)])
    seed = None
    if trials.seed is not None and trials.unscored_seed is not None and not len(trials.missing):
        seed = np.concatenate([trials.seed, trials.unscored_seed])
    index = np.concatenate([trials.index, unseen])
    return TaskTrials(index, success, success.astype(np.float64) if measure == "success" else score, seed=seed)


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
