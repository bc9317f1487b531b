"""A leaderboard is made from the trials of its agents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from proctor.errors import InputError
from proctor.registry import did_you_mean
from proctor.scoring import Scoring
from proctor.stats import bootstrap
from proctor.verdict.comparison import AgentTrials, JudgeCfg, TaskTrials
from proctor.verdict.comparison.meeting import distinct
from proctor.verdict.leaderboard.advice import Rivals, advise
from proctor.verdict.leaderboard.gaps import stand
from proctor.verdict.leaderboard.means import weigh
from proctor.verdict.leaderboard.model import BROKEN, Entry, Leaderboard, TaskResult

SINGLE = "a single different episode, which tells nothing of the spread"
FIXED = "every task has a single different episode, which tells nothing of the spread"


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
    """The leaderboard of a contest. Its order is by score, then by name: that of agents and tasks changes nothing but
    the order of columns. `weights`: task -> how much it counts against the others, 1 where nothing is said."""
    shares = task_shares(contest.tasks, weights)
    cells = {(agent, task): of[task] for agent, of in contest.agents.items() for task in contest.tasks}
    rivals = Rivals(cells, shares, contest.scoring)
    entries = [_entry(agent, of, rivals, judging) for agent, of in contest.agents.items()]
    entries.sort(key=lambda entry: (entry.score is None, -(entry.score or 0.0), entry.agent))
    scored = [entry.agent for entry in entries if entry.score is not None]
    ranked = [AgentTrials(agent, contest.agents[agent], contest.pairs) for agent in scored]
    standings = stand(ranked, shares, judging)
    placed = tuple(
        replace(entry, rank=standings.ranks.get(entry.agent), letters=standings.letters.get(entry.agent))
        for entry in entries
    )
    board = Leaderboard(
        name=contest.name,
        tasks=contest.tasks,
        weights={task: shares[task] for task in contest.tasks},
        scoring=contest.scoring.name,
        unit=contest.scoring.unit,
        level=judging.level,
        entries=placed,
        gaps=standings.gaps,
    )
    cautions = (*_about_copies(board), *_about_fixed(board), *_about_missing(board, contest.scoring))
    return replace(board, cautions=cautions)


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


def _entry(agent: str, tasks: Mapping[str, TaskTrials], rivals: Rivals, judging: JudgeCfg) -> Entry:
    results = tuple(_task_result(task, tasks[task], judging) for task in rivals.shares)
    means = {r.task: r.score for r in results if rivals.shares[r.task] > 0}
    whole = weigh({task: distinct(tasks[task]).score for task in rivals.shares}, rivals.shares)
    spread = bootstrap(whole.strata, level=judging.level, resampling=judging.resampling)
    reason = None if spread.reason is None else spread.reason.value
    if whole.missing or not whole.strata:
        reason = f"no score on {', '.join(whole.missing)}" if whole.missing else FIXED
    score = None
    if all(mean is not None for mean in means.values()):
        score = float(sum(rivals.shares[task] * (means[task] or 0.0) for task in sorted(means)))
    return Entry(
        agent=agent,
        rank=None,
        letters=None,
        score=score,
        interval=None if reason else spread.interval,
        reason=reason,
        fixed=whole.fixed,
        tasks=results,
        terms=_weighed_terms(results, rivals),
        advice=advise(agent, rivals),
    )


def _task_result(task: str, cell: TaskTrials, judging: JudgeCfg) -> TaskResult:
    scores, different = cell.score, distinct(cell).score
    whole = len(scores) > 0 and not np.isnan(scores).any()
    spread = bootstrap([different], level=judging.level, resampling=judging.resampling)
    reason = SINGLE if whole and len(different) == 1 else None if spread.reason is None else spread.reason.value
    return TaskResult(
        task=task,
        n=len(scores),
        n_distinct=len(different),
        n_unscored=len(cell.unscored),
        score=float(scores.mean()) if whole else None,
        score_distinct=spread.value,
        interval=spread.interval,
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


def _about_copies(board: Leaderboard) -> list[str]:
    found = [
        f"{entry.agent} on {result.task} {result.n_distinct} of {result.n}"
        for entry in board.entries
        for result in entry.tasks
        if result.n_distinct < result.n
    ]
    if not found:
        return []
    moved = [entry.agent for entry in board.entries if _moved(entry)]
    also = f" The mean of different episodes alone would be another one for {_listed(moved)}." if moved else ""
    return [
        "Some episodes are copies of others, to the byte: means are over all of them, intervals and tests count each "
        f"different one once. Different episodes: {_listed(found)}.{also}"
    ]


def _moved(entry: Entry) -> bool:
    pairs = [(r.score, r.score_distinct) for r in entry.tasks if r.score is not None and r.score_distinct is not None]
    return any(abs(a - b) > 1e-9 * max(1.0, abs(a)) for a, b in pairs)


def _about_fixed(board: Leaderboard) -> list[str]:
    tasks = dict.fromkeys(task for entry in board.entries for task in entry.fixed)
    once = [t for t in tasks if any(r.n == 1 for e in board.entries for r in e.tasks if r.task == t and t in e.fixed)]
    if not tasks:
        return []
    few = f" {_listed(once)} was tried once: try it again." if once else ""
    return [
        f"On {_listed(list(tasks))} some agents have a single different episode: intervals hold such a task fixed, and "
        f"say what the seeds of the other tasks could change.{few}"
    ]


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
