"""All agents at once: every pair, Holm's correction over them, ranks and letters; and how many trials would settle a
pair, if its true difference is the one that was seen."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import NormalDist

import numpy as np

from proctor.stats import (
    Estimate,
    Resampling,
    SampleSize,
    Units,
    expected_discordance,
    holm,
    letters,
    mean_estimate,
    rate_interval,
    simultaneous_intervals,
    trials_after_a_look,
    within,
)
from proctor.verdict.comparison.model import Comparison, Difference, Pair, Standing
from proctor.verdict.comparison.pairs import compare_pair
from proctor.verdict.estimand import MEASURES, RATE, JudgeCfg, Measure, differences_within, shares_of, values_of
from proctor.verdict.trials import AgentTrials

Means = Mapping[Measure, Mapping[str, float | None]]
Groups = Mapping[Measure, dict[str, str] | None]
"""By measure, then by agent."""
MOST_TOGETHER = 300
"""Pairs up to which intervals are given that hold all at once."""
MOST_AGENTS = 200
"""Agents up to which all pairs are tested; the time grows with the square of their number."""
UNDEFINED = "nothing says what success is on some task"


def judge(agents: Sequence[AgentTrials], judging: JudgeCfg = JudgeCfg()) -> Comparison:  # noqa: B008 - frozen
    """Compare agents on the tasks that all of them have. An agent without a scored trial on a task that others were
    tried on has no rank: its mean is of other tasks. Raises ValueError where no task is common to all, and for more
    than MOST_AGENTS."""
    tasks = [task for task in agents[0].tasks if all(task in agent.tasks for agent in agents)]
    if not tasks:
        raise ValueError("no task is common to all agents")
    if len(agents) > MOST_AGENTS:
        raise ValueError(f"{len(agents)} agents; at most {MOST_AGENTS} are compared with each other")
    shared = [replace(agent, tasks={task: agent.tasks[task] for task in tasks}) for agent in agents]
    tried = [task for task in tasks if any(agent.tasks[task].n for agent in shared)]
    whole = {agent.name: all(agent.tasks[task].n for task in tried) and agent.n > 0 for agent in shared}
    means: Means = {measure: {agent.name: _mean(agent, measure, judging) for agent in shared} for measure in MEASURES}
    scored = any(mean is not None for mean in means["score"].values())
    by: Measure = "score" if scored and not _only_success(shared) else "success"
    ranked = sorted(shared, key=lambda agent: (not whole[agent.name], *_order(agent, means, by)))
    present = [agent for agent in ranked if agent.n]
    found = [compare_pair(a, b, judging) for i, a in enumerate(present) for b in present[i + 1 :]]
    pairs = _together(_adjusted(found), judging)
    draft = Comparison((), tuple(pairs), tuple(tasks), by, judging.level, judging.looked)
    groups: Groups = {measure: _letters(draft, present, measure, means[measure]) for measure in MEASURES}
    standings = [_standing(agent, means, groups, judging) for agent in ranked]
    made = replace(draft, agents=_placed(standings, means[by], whole))
    defined = all(agent.tasks[task].defines_success for agent in shared for task in tasks)
    return made if defined else _without_success(made)


def _only_success(agents: Sequence[AgentTrials]) -> bool:
    """Whether every score is the success of its trial, so that there is no other measure."""
    cells = [trials for agent in agents for trials in agent.tasks.values()]
    return all(trials.defines_success and (trials.score == trials.success).all() for trials in cells)


def units_of(agent: AgentTrials, measure: Measure, judging: JudgeCfg) -> Units | None:
    """An agent's own trials on the tasks that it has; None without any, or where one has no value."""
    own = {name: trials for name, trials in agent.tasks.items() if trials.n}
    shares = shares_of(list(own), [trials.n for trials in own.values()], judging.weights)
    counting = [(trials, share) for trials, share in zip(own.values(), shares, strict=True) if share > 0]
    values = [values_of(trials, measure) for trials, _ in counting]
    if not values or any(np.isnan(some).any() for some in values):
        return None
    return Units.of(values, [trials.seeds for trials, _ in counting], [share for _, share in counting])


def estimate_of(units: Units, judging: JudgeCfg) -> Estimate:
    """An agent's mean score, with its interval."""
    return mean_estimate(units, judging.level, Resampling(judging.n_resamples, judging.seed), judging.limits)


def _mean(agent: AgentTrials, measure: Measure, judging: JudgeCfg) -> float | None:
    units = units_of(agent, measure, judging)
    return None if units is None else units.mean


def _order(agent: AgentTrials, means: Means, by: Measure) -> tuple[bool, bool, float, float, str]:
    score, rate = means["score"][agent.name], means["success"][agent.name]
    return (agent.n == 0, by == "score" and score is None, -(score or 0.0), -1.0 if rate is None else -rate, agent.name)


def _adjusted(pairs: Sequence[Pair]) -> list[Pair]:
    """Pairs with Holm's p-values, each measure by itself."""
    found = list(pairs)
    for measure in MEASURES:
        tests = [(i, test.p_value) for i, pair in enumerate(found) if (test := pair.of(measure).test) is not None]
        for (i, _), p in zip(tests, holm([p for _, p in tests]), strict=True):
            changed = {**found[i].differences, measure: replace(found[i].of(measure), p_adjusted=p)}
            found[i] = replace(found[i], differences=changed)
    return found


def _together(pairs: Sequence[Pair], judging: JudgeCfg) -> list[Pair]:
    """Pairs with intervals that hold all at once, where there are several and they have units of their own."""
    found = list(pairs)
    if not 1 < len(pairs) <= MOST_TOGETHER:
        return found
    for measure in MEASURES:
        known = [(i, pair.of(measure)) for i, pair in enumerate(found) if pair.of(measure).interval is not None]
        samples = [(i, own.sample) for i, own in known if own.sample is not None]
        made = simultaneous_intervals([own for _, own in samples], judging.level, Resampling(seed=judging.seed))
        ends = differences_within(RATE if measure == "success" else judging.limits)
        for (i, _), interval in zip(samples, made.intervals, strict=True):
            own = replace(found[i].of(measure), simultaneous=within(interval, ends))
            changed = {**found[i].differences, measure: own}
            found[i] = replace(found[i], differences=changed)
    return found


def _letters(
    draft: Comparison, present: Sequence[AgentTrials], measure: Measure, means: Mapping[str, float | None]
) -> dict[str, str] | None:
    """Letters in the order of the measure; None where not every pair has a difference."""
    if len(present) < 2 or any(pair.of(measure).value is None for pair in draft.pairs):
        return None
    best_first = sorted(present, key=lambda agent: -(means[agent.name] or 0.0))
    apart = [(pair.a, pair.b) for pair in draft.pairs if draft.better(pair, measure) is not None]
    return letters([agent.name for agent in best_first], apart)


def _standing(
    agent: AgentTrials,
    means: Means,
    groups: Groups,
    judging: JudgeCfg,
) -> Standing:
    units, scores = (units_of(agent, measure, judging) for measure in MEASURES)
    return Standing(
        agent=agent.name,
        rank=None,
        n=agent.n,
        n_unscored=agent.n_unscored,
        n_repeats=agent.n_repeats,
        successes=agent.successes,
        rate=means["success"][agent.name],
        rate_interval=None if units is None else rate_interval(units, judging.level),
        score=means["score"][agent.name],
        score_interval=None if scores is None else estimate_of(scores, judging).interval,
        letters={measure: None if found is None else found.get(agent.name) for measure, found in groups.items()},
    )


def _placed(
    standings: Sequence[Standing], means: Mapping[str, float | None], whole: Mapping[str, bool]
) -> tuple[Standing, ...]:
    """With ranks: those that have been tried on everything, by how many have a better mean."""
    known = {name: mean for name, mean in means.items() if mean is not None and whole[name]}
    return tuple(
        replace(one, rank=1 + sum(mean > known[one.agent] for mean in known.values())) if one.agent in known else one
        for one in standings
    )


def _without_success(found: Comparison) -> Comparison:
    """The same comparison by scores alone: where nothing says what success is, there are no success rates."""
    agents = tuple(
        replace(agent, successes=0, rate=None, rate_interval=None, letters={**agent.letters, "success": None})
        for agent in found.agents
    )
    return replace(found, agents=agents, pairs=tuple(map(_by_score, found.pairs)))


def _by_score(pair: Pair) -> Pair:
    nothing = Difference("success", None, None, None, None, "none", reason=UNDEFINED, untested=UNDEFINED)
    tasks = tuple(replace(task, success=None) for task in pair.tasks)
    return replace(pair, differences={**pair.differences, "success": nothing}, tasks=tasks, discordance=None)


NORMAL = NormalDist()
DRAWN = 999
"""Values that stand for a distribution."""


def needed_trials(
    comparison: Comparison, pair: Pair, measure: Measure | None = None, power: float = 0.8
) -> SampleSize | None:
    """Trials per agent in all, those there are included, with the share of alpha that the pair has if all pairs are
    tested. They are tested as trials that were added after a look. Seeds are what is counted; tasks that share them
    have a trial of each. None where the difference is 0 or unknown: no number of trials settles that."""
    found = pair.of(measure or comparison.by)
    alpha = (1 - comparison.level) / max(1, len(comparison.pairs))
    units = _differences(pair, found, comparison.level)
    if units is None or not found.value or not units.sum():
        return None
    needed = trials_after_a_look(units, power, alpha)
    if needed.n is None or not found.units:
        return needed
    return replace(needed, n=math.ceil(needed.n * min(pair.n_a, pair.n_b) / found.units))


def _differences(pair: Pair, found: Difference, level: float) -> np.ndarray | None:
    """What further seeds are expected to differ by: as those that were seen; of independent trials, as they would if
    put side by side at random."""
    if found.sample is not None:
        return found.sample
    if not found.value or found.value_a is None or found.value_b is None:
        return None
    if "cohens_h" in found.effects:
        differing = expected_discordance(found.value_a, found.value_b)
        ahead, behind = ((differing + sign * found.value) / 2 for sign in (1, -1))
        return np.repeat([1.0, -1.0, 0.0], np.round(DRAWN * np.array([ahead, behind, 1 - differing])).astype(int))
    if found.interval is None:
        return None
    n = 2 * pair.n_a * pair.n_b / (pair.n_a + pair.n_b)
    spread = math.sqrt(n) * found.interval.width / (2 * NORMAL.inv_cdf(0.5 + level / 2))
    return found.value + spread * np.array([NORMAL.inv_cdf((i + 0.5) / DRAWN) for i in range(DRAWN)])
