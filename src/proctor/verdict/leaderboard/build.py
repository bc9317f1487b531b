"""A leaderboard is made from the trials of its agents, with what would raise each score most, by what each term
contributed to each episode."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from proctor.errors import InputError
from proctor.registry import did_you_mean
from proctor.scoring import Scoring
from proctor.stats import Estimate, NoInterval, Units
from proctor.verdict.comparison import AgentTrials, JudgeCfg, Standing, TaskTrials, judge
from proctor.verdict.comparison.cautions import cautions_of
from proctor.verdict.comparison.judge import estimate_of, units_of
from proctor.verdict.leaderboard.model import BROKEN, Advice, Entry, Kind, Leaderboard, TaskResult

MOST = 3
NEGLIGIBLE = 0.005
"""Of what all terms add and cost: less is not worth a line."""


@dataclass(frozen=True, eq=False)
class Rivals:
    """All agents on all tasks: what one of them can be measured by. `cells` by (agent, task)."""

    cells: Mapping[tuple[str, str], TaskTrials]
    shares: Mapping[str, float]
    scoring: Scoring

    @property
    def agents(self) -> list[str]:
        return sorted({agent for agent, _ in self.cells})

    def weights(self, term: str) -> dict[str, float]:
        """Task -> weight, where the term counts and was recorded."""
        found = {
            task: self.scoring.term_weights(task).get(term, 0.0) for task, share in self.shares.items() if share > 0
        }
        return {task: weight for task, weight in found.items() if weight and len(self.of_all(term, task))}

    def of(self, agent: str, term: str, task: str) -> np.ndarray:
        """What the term contributed to the episodes of an agent that ran to an end."""
        values = self.cells[agent, task].terms.get(term, np.empty(0))
        return values[np.isfinite(values)]

    def of_all(self, term: str, task: str) -> np.ndarray:
        return np.concatenate([self.of(agent, term, task) for agent in self.agents])

    def paid(self, agent: str, term: str, tasks: Iterable[str]) -> float:
        """What the term adds to an agent's score."""
        found = {task: self.of(agent, term, task) for task in tasks}
        return sum(self.shares[task] * float(values.mean()) for task, values in found.items() if len(values))


def advise(agent: str, rivals: Rivals) -> tuple[Advice, ...]:
    """The terms with the most to gain, at most MOST, the largest first: among them the largest cost that could be
    avoided, and the largest gain that is missing. What every episode pays alike is left out: no agent can change it."""
    terms = dict.fromkeys(term for task in rivals.shares for term in rivals.scoring.term_weights(task))
    found = [advice for term in terms if (advice := _advice(agent, term, rivals)) is not None]
    least = NEGLIGIBLE * sum(abs(rivals.paid(agent, term, rivals.weights(term))) for term in terms)
    made = [advice for advice in found if advice.gain > least]
    made.sort(key=lambda advice: -advice.gain)
    firsts = [next((a for a in made if (a.kind == "avoid") is avoid), None) for avoid in (True, False)]
    chosen = [a for a in firsts if a is not None]
    chosen += [a for a in made if a not in chosen][: MOST - len(chosen)]
    return tuple(sorted(chosen, key=lambda advice: -advice.gain))


def _advice(agent: str, term: str, rivals: Rivals) -> Advice | None:
    """What a term leaves to be had over all tasks that have it; None for nothing."""
    weights = rivals.weights(term)
    own = np.concatenate([np.empty(0), *(rivals.of(agent, term, task) for task in weights)])
    if not len(own):
        return None
    paid = rivals.paid(agent, term, weights)
    kind, best, example = _reachable(term, weights, rivals)
    if best <= paid:
        return None
    did = rivals.scoring.term_words.get(term, term)
    return Advice(kind, term, best - paid, float(np.mean(own != 0)), paid, best, example, did)


def _reachable(term: str, weights: Mapping[str, float], rivals: Rivals) -> tuple[Kind, float, str | None]:
    """How the term could pay more, what it could add to a score, and the agent for which it does: a cost can be 0; what
    is done or not (0 or 1) can be done in every episode; for anything else the best agent is the measure."""
    values = {task: rivals.of_all(term, task) for task in weights}
    once = term != rivals.scoring.step_term
    if once and all(weights[task] < 0 and (values[task] <= 0).all() for task in weights):
        return "avoid", 0.0, None
    if once and all(weights[t] > 0 and np.isin(values[t], (0.0, weights[t])).all() for t in weights):
        return "reach", sum(rivals.shares[task] * weights[task] for task in weights), None
    complete = [agent for agent in rivals.agents if all(len(rivals.of(agent, term, task)) for task in weights)]
    means = {agent: rivals.paid(agent, term, weights) for agent in complete}
    best = max(means, key=means.__getitem__)
    return "raise", means[best], best


@dataclass(frozen=True, eq=False)
class Contest:
    """What is ranked: agents by name, each with its trials on every task. `pairs`: trials of one index and seed began
    alike."""

    name: str
    tasks: tuple[str, ...]
    agents: Mapping[str, Mapping[str, TaskTrials]]
    scoring: Scoring
    pairs: bool = True


def build(contest: Contest, judging: JudgeCfg, weights: Mapping[str, float]) -> Leaderboard:
    """The leaderboard of a contest: the order, ranks and letters of its comparison. `weights`: task -> how much it
    counts against the others, 1 where nothing is said."""
    shares = task_shares(contest.tasks, weights)
    judging = replace(judging, weights=shares) if weights else judging
    agents = {name: AgentTrials(name, tasks, contest.pairs) for name, tasks in contest.agents.items()}
    comparison = judge(list(agents.values()), judging)
    cells = {(agent, task): of[task] for agent, of in contest.agents.items() for task in contest.tasks}
    rivals = Rivals(cells, shares, contest.scoring)
    board = Leaderboard(
        name=contest.name,
        tasks=contest.tasks,
        weights={task: shares[task] for task in contest.tasks},
        scoring=contest.scoring.name,
        unit=contest.scoring.unit,
        level=judging.level,
        entries=tuple(_entry(standing, agents[standing.agent], rivals, judging) for standing in comparison.agents),
        comparison=comparison,
    )
    return replace(board, cautions=(*cautions_of(comparison), *_about_missing(board, contest.scoring)))


def task_shares(tasks: Sequence[str], weights: Mapping[str, float]) -> dict[str, float]:
    """How much each task counts, adding up to 1. Raises InputError for weights of no task, below 0, or all 0."""
    for task, weight in weights.items():
        if task not in tasks:
            meant = did_you_mean(task, tasks)
            raise InputError(f'--weight {task}={weight:g}: no task "{task}"{meant} (tasks: {", ".join(tasks)})')
        if not 0 <= weight < float("inf"):
            raise InputError(f"--weight {task}={weight:g}: expected 0 or more")
    given = {task: float(weights.get(task, 1.0)) for task in tasks}
    total = sum(given[task] for task in sorted(given))
    if total <= 0:
        raise InputError("every task has the weight 0; leave one that counts")
    return {task: weight / total for task, weight in given.items()}


def _entry(standing: Standing, trials: AgentTrials, rivals: Rivals, judging: JudgeCfg) -> Entry:
    results = tuple(_task_result(task, trials.tasks[task], judging) for task in rivals.shares)
    units = units_of(trials, "score", judging)
    whole = standing.rank is not None and units is not None
    found = estimate_of(units, judging) if units and whole else None
    return Entry(
        agent=standing.agent,
        rank=None if found is None else standing.rank,
        letters=standing.letters.get("score"),
        score=None if found is None else found.value,
        interval=None if found is None else found.interval,
        reason=_reason(found, results),
        tasks=results,
        terms=_weighed_terms(results, rivals) if whole else {},
        advice=advise(standing.agent, rivals),
    )


def _reason(found: Estimate | None, results: Sequence[TaskResult]) -> str | None:
    if found is not None:
        return None if found.reason is None else found.reason.value
    return f"no score on {', '.join(r.task for r in results if r.score is None) or 'a task'}"


def _task_result(task: str, cell: TaskTrials, judging: JudgeCfg) -> TaskResult:
    whole = cell.n > 0 and not np.isnan(cell.score).any()
    units = Units.of([cell.score], [cell.seeds], [1.0]) if whole else None
    found = estimate_of(units, judging) if units else None
    reason = NoInterval.MISSING.value if cell.n else NoInterval.NO_VALUES.value
    if found is not None:
        reason = None if found.reason is None else found.reason.value
    return TaskResult(
        task=task,
        n=cell.n,
        n_repeats=cell.n_repeats,
        n_unscored=len(cell.unscored),
        score=None if found is None else found.value,
        interval=None if found is None else found.interval,
        reason=reason,
        terms=_mean_terms(cell) if whole else {},
    )


def _mean_terms(cell: TaskTrials) -> dict[str, float]:
    """What each term adds to the mean score; trials that the policy broke add their floor."""
    if not cell.terms:
        return {}
    n, scores = cell.n, cell.score
    found = {name: float(np.nansum(values)) / n for name, values in cell.terms.items()}
    broken = np.isnan(np.stack(list(cell.terms.values()))).all(axis=0)
    return {**found, BROKEN: float(scores[broken].sum()) / n} if broken.any() else found


def _weighed_terms(results: Sequence[TaskResult], rivals: Rivals) -> dict[str, float]:
    """What each term adds to the score over all tasks; what steps and broken trials add comes last."""
    found: dict[str, float] = {}
    for result in results:
        for term, value in result.terms.items():
            found[term] = found.get(term, 0.0) + rivals.shares[result.task] * value
    last = (rivals.scoring.step_term, BROKEN)
    return {term: found[term] for term in sorted(found, key=lambda term: term in last)}


# Cautions -------------------------------------------------------------------------------------------------------------


def _about_missing(board: Leaderboard, scoring: Scoring) -> list[str]:
    unscored = [f"{entry.agent} {entry.n_unscored}" for entry in board.entries if entry.n_unscored]
    blank = [entry.agent for entry in board.entries if entry.score is None]
    floor = (
        "" if scoring.floor is not None else ", or trials that the policy broke, for which scoring.floor sets a score"
    )
    return [
        *([f"Unscored trials are in no mean: {_listed(unscored)}."] if unscored else []),
        *([f"No score for {_listed(blank)}: a task without scored trials{floor}."] if blank else []),
    ]


def _listed(words: Sequence[str], most: int = 6) -> str:
    return ", ".join(words[:most]) + (f" and {len(words) - most} more" if len(words) > most else "")
