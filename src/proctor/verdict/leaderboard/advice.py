"""What would raise a score most, from what each term contributed to each episode."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from proctor.scoring import Scoring
from proctor.verdict.leaderboard.model import Advice, Kind
from proctor.verdict.trials import TaskTrials

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
