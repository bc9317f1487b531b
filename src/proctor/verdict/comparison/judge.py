"""All agents at once: every pair, Holm's correction over them, ranks and letters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from proctor.stats import holm, letters, wilson
from proctor.verdict.comparison.model import MEASURES, Comparison, Measure, Pair, Standing
from proctor.verdict.comparison.pairs import JudgeCfg, compare_pair
from proctor.verdict.comparison.undefined import without_success
from proctor.verdict.trials import AgentTrials

MOST_IN_FULL = 20
"""Agents up to which all pairs are tested; above, each with the first-ranked one."""


def judge(agents: Sequence[AgentTrials], judging: JudgeCfg = JudgeCfg()) -> Comparison:  # noqa: B008 - frozen
    """Compare at least two agents on the tasks that all of them have. Agents without a scored trial there are ranked
    last and enter no pair. Raises ValueError where no task is common to all."""
    tasks = [task for task in agents[0].tasks if all(task in agent.tasks for agent in agents)]
    if not tasks:
        raise ValueError("no task is common to all agents")
    shared = [replace(agent, tasks={task: agent.tasks[task] for task in tasks}) for agent in agents]
    by: Measure = "score" if any(_score(agent) is not None for agent in shared) else "success"
    ranked = sorted(shared, key=lambda agent: _order(agent, by))
    present = [agent for agent in ranked if agent.n]
    in_full = len(present) <= MOST_IN_FULL
    chosen = [(i, j) for i in range(len(present)) for j in range(i + 1, len(present)) if in_full or i == 0]
    pairs = _adjusted([compare_pair(present[i], present[j], judging) for i, j in chosen])
    draft = Comparison((), tuple(pairs), tuple(tasks), by, judging.level, in_full)
    groups: dict[Measure, dict[str, str] | None] = {measure: _letters(draft, present, measure) for measure in MEASURES}
    standings = tuple(_standing(agent, ranked, by, groups, judging.level) for agent in ranked)
    made = replace(draft, agents=standings)
    defined = all(agent.tasks[task].defines_success for agent in shared for task in tasks)
    return made if defined else without_success(made)


def _score(agent: AgentTrials) -> float | None:
    """The mean score; None without one for every scored trial."""
    scores = agent.scores()
    return float(scores.mean()) if len(scores) and not np.isnan(scores).any() else None


def _rate(agent: AgentTrials) -> float | None:
    return agent.successes / agent.n if agent.n else None


def _order(agent: AgentTrials, by: Measure) -> tuple[bool, bool, float, float]:
    score, rate = _score(agent), _rate(agent)
    return (agent.n == 0, by == "score" and score is None, -(score or 0.0), -1.0 if rate is None else -rate)


def _adjusted(pairs: Sequence[Pair]) -> list[Pair]:
    """Pairs with Holm's p-values, each measure by itself."""
    found = list(pairs)
    for measure in MEASURES:
        tests = [(i, test.p_value) for i, pair in enumerate(found) if (test := pair.of(measure).test) is not None]
        for (i, _), p in zip(tests, holm([p for _, p in tests]), strict=True):
            changed = {**found[i].differences, measure: replace(found[i].of(measure), p_adjusted=p)}
            found[i] = replace(found[i], differences=changed)
    return found


def _letters(draft: Comparison, present: Sequence[AgentTrials], measure: Measure) -> dict[str, str] | None:
    """Letters in the order of the measure; None where not every pair has a test."""
    if not draft.in_full or len(present) < 2 or any(pair.of(measure).test is None for pair in draft.pairs):
        return None
    value = _score if measure == "score" else _rate
    best_first = sorted(present, key=lambda agent: -(value(agent) or 0.0))
    apart = [(pair.a, pair.b) for pair in draft.pairs if draft.different(pair, measure)]
    return letters([agent.name for agent in best_first], apart)


def _standing(
    agent: AgentTrials,
    all_: Sequence[AgentTrials],
    by: Measure,
    groups: dict[Measure, dict[str, str] | None],
    level: float,
) -> Standing:
    value = _score if by == "score" else _rate
    own = value(agent)
    better = [v for other in all_ if (v := value(other)) is not None and own is not None and v > own]
    return Standing(
        agent=agent.name,
        rank=None if own is None else 1 + len(better),
        n=agent.n,
        n_unscored=agent.n_unscored,
        successes=agent.successes,
        rate=_rate(agent),
        rate_interval=wilson(agent.successes, agent.n, level),
        score=_score(agent),
        letters={measure: None if found is None else found.get(agent.name) for measure, found in groups.items()},
    )
