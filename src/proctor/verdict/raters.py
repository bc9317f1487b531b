"""Who judged the trials: whether they knew the agent, whether each judged all agents, and how far they agree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from proctor.record.ledger import Ledger
from proctor.stats.agreement import Agreement, cohens_kappa
from proctor.texts import count

KEY = "ratings"
"""What a ledger keeps ratings under."""
LITTLE = 0.6
"""Cohen's kappa below which raters are said to agree little."""


@dataclass(frozen=True, slots=True)
class Rating:
    """One rater's view of one trial. `success` is None where the trial does not count for them; `blind` None where it
    is not said whether they knew the agent."""

    agent: str
    task: str
    index: int
    rater: str | None
    blind: bool | None
    success: bool | None

    @property
    def trial(self) -> tuple[str, str, int]:
        return self.agent, self.task, self.index


@dataclass(frozen=True, slots=True)
class Rater:
    """What one rater judged: how many trials of which agents, and how many of them blind, knowing the agent, and
    without saying."""

    name: str
    agents: dict[str, int]
    blind: int
    open: int
    unsaid: int

    @property
    def n(self) -> int:
        return sum(self.agents.values())


@dataclass(frozen=True, slots=True)
class Blinding:
    """The trials of one agent. One is `blind` if every rater of it was, and `open` if any knew the agent."""

    agent: str
    n: int
    blind: int
    open: int

    @property
    def unsaid(self) -> int:
        return self.n - self.blind - self.open


@dataclass(frozen=True, slots=True)
class Raters:
    """`ties`: trials in which as many raters saw a success as did not. `agreements`: of every two raters with trials
    in common that count for both."""

    ratings: tuple[Rating, ...]
    raters: tuple[Rater, ...]
    blinding: tuple[Blinding, ...]
    several: int
    ties: int
    agreements: tuple[tuple[str, str, Agreement], ...]

    def cautions(self) -> Iterator[str]:
        """What stands between the numbers and the agents, in sentences."""
        for kind, told in (("open", "were judged by somebody who knew the agent"),
                           ("unsaid", "do not say whether whoever judged them knew the agent")):  # fmt: skip
            total = sum(getattr(own, kind) for own in self.blinding)
            if total:
                by_agent = ", ".join(f"{own.agent} {getattr(own, kind)} of {own.n}" for own in self.blinding)
                n = sum(own.n for own in self.blinding)
                yield f"{total:,} of {n:,} trials {told} ({by_agent}): a rater's expectation may be in the outcomes."
        alone = [
            f"{rater.name} judged {next(iter(rater.agents))} only" for rater in self.raters if len(rater.agents) == 1
        ]
        if alone and len(self.blinding) > 1:
            yield f"{'; '.join(alone[:6])}: a difference between agents may be one between raters."
        if self.ties:
            yield f"In {count(self.ties, 'trial')} as many raters saw a success as did not; a tie counts as a failure."
        for a, b, found in self.agreements:
            if found.kappa is not None and found.kappa < LITTLE:
                yield (
                    f"{a} and {b} agree little beyond chance: Cohen's kappa {found.kappa:.2f} on {found.n:,} trials "
                    f"({found.agreed:,} judged alike). What success is may need a clearer rule."
                )


def kept_ratings(ledger: Ledger) -> tuple[Rating, ...]:
    """What a ledger has kept; nothing for a run whose file named no rater."""
    return tuple(Rating(**each) for each in ledger.get_meta(KEY, []))


def summarised(ratings: Sequence[Rating], level: float = 0.95) -> Raters | None:
    """Everything about the raters of a run; None where nothing was kept of them."""
    if not ratings:
        return None
    trials: dict[tuple[str, str, int], list[Rating]] = {}
    for rating in ratings:
        trials.setdefault(rating.trial, []).append(rating)
    names = list(dict.fromkeys(rating.rater for rating in ratings if rating.rater is not None))
    return Raters(
        ratings=tuple(ratings),
        raters=tuple(_rater(name, ratings) for name in names),
        blinding=tuple(_blinding(agent, list(trials.values())) for agent in dict.fromkeys(r.agent for r in ratings)),
        several=sum(len(votes) > 1 for votes in trials.values()),
        ties=sum(map(_tied, trials.values())),
        agreements=tuple(_agreements(names, list(trials.values()), level)),
    )


def _rater(name: str, ratings: Sequence[Rating]) -> Rater:
    own = [rating for rating in ratings if rating.rater == name]
    agents: dict[str, int] = {}
    for rating in own:
        agents[rating.agent] = agents.get(rating.agent, 0) + 1
    blind, known, unsaid = (sum(rating.blind is value for rating in own) for value in (True, False, None))
    return Rater(name, agents, blind, known, unsaid)


def _blinding(agent: str, trials: Sequence[Sequence[Rating]]) -> Blinding:
    own = [votes for votes in trials if votes[0].agent == agent]
    blind = sum(all(rating.blind is True for rating in votes) for votes in own)
    return Blinding(agent, len(own), blind, sum(any(rating.blind is False for rating in votes) for votes in own))


def _tied(votes: Sequence[Rating]) -> bool:
    counting = [rating.success for rating in votes if rating.success is not None]
    scored = 2 * len(counting) >= len(votes)
    return scored and len(counting) > 1 and 2 * sum(counting) == len(counting)


def _agreements(
    names: Sequence[str], trials: Sequence[Sequence[Rating]], level: float
) -> Iterator[tuple[str, str, Agreement]]:
    views = [{rating.rater: rating.success for rating in votes if rating.success is not None} for votes in trials]
    for a, b in combinations(names, 2):
        both = np.array([(own[a], own[b]) for own in views if a in own and b in own], dtype=bool).reshape(-1, 2)
        if len(both):
            yield a, b, cohens_kappa(both[:, 0], both[:, 1], level)
