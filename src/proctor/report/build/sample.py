"""The trials of some agents on some tasks: which rows of a run's columns count, and facts of single rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from proctor.record.columns import BROKEN, OUTCOMES, SCORED, Trials
from proctor.record.errors import merged, skeleton
from proctor.report.model import Cause, Extreme, Picked
from proctor_host.episode import Outcome
from proctor_host.trials import Trial

MAX_CAUSES, OTHERS = 200, "other messages"
AGENTS, EACH = 8, 3
"""Of how many agents extreme trials are listed, and how many of each kind."""
FILMED, WORST = 24, 6
"""How many videos a page shows, and of how many trials what was recorded is drawn."""


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows of the trials of these (agent, task), pair after pair: `kept` are those that enter the numbers, of
    which `strata` has the scored ones of every pair."""

    trials: Trials
    pairs: Sequence[tuple[str, str]]
    kept: np.ndarray
    strata: list[np.ndarray]
    n_after_stop: int
    n_repeats: int

    @cached_property
    def scored(self) -> np.ndarray:
        return np.concatenate(self.strata)

    def judged(self) -> Sample | None:
        """The trials of tasks on which something says what success is; None where there is no such task."""
        pairs = [pair for pair in self.pairs if pair[1] not in self.trials.without_success]
        if len(pairs) == len(self.pairs):
            return self
        return sample_of(self.trials, pairs) if pairs else None

    def names(self, by_cell: Sequence[set[str]]) -> list[str]:
        """The metrics or components of its scored trials, each once."""
        cells = [int(self.trials["cell"][rows[0]]) for rows in self.strata if len(rows)]
        return list(dict.fromkeys(name for cell in cells for name in sorted(by_cell[cell])))


def sample_of(trials: Trials, pairs: Sequence[tuple[str, str]]) -> Sample:
    """The trials of these pairs, in their order."""
    rows = [trials.rows(*pair) for pair in pairs]
    kept = [trials.counted(*pair) for pair in pairs]
    scored = [own[SCORED[trials["outcome"][own]]] for own in kept]
    after = int(sum(trials["after_stop"][own].sum() for own in rows))
    repeats = sum(map(len, rows)) - after - sum(map(len, kept))
    return Sample(trials, pairs, np.concatenate(kept), scored, after, repeats)


def facts(trials: Trials, row: int) -> dict[str, Any]:
    """What a report says of every trial that it shows."""
    score, steps = float(trials["score"][row]), float(trials["steps_total"][row])
    return {
        "index": int(trials["index"][row]),
        "seed": int(trials["seed"][row]),
        "outcome": OUTCOMES[trials["outcome"][row]].value,
        "steps": int(steps) if np.isfinite(steps) else None,
        "score": score if np.isfinite(score) else None,
        "npz": trials["npz"][row],
        "video": trials["video"][row],
    }


def causes(trials: Trials) -> tuple[Cause, ...]:
    """What broke trials: most frequent first, ties by name. Messages that differ in numbers or addresses only are one
    cause. Beyond MAX_CAUSES, further ones are counted together."""
    found: dict[tuple[str, str, str], list[int]] = {}
    outcome, error = trials["outcome"], trials["error"]
    for row in np.flatnonzero((BROKEN[outcome] | ~SCORED[outcome]) & ~trials["after_stop"]).tolist():
        agent, kind = trials.pairs[int(trials["cell"][row])][0], OUTCOMES[outcome[row]].value
        key = (agent, kind, skeleton(error[row] or "no message"))
        if key not in found and len(found) >= MAX_CAUSES:
            key = (agent, kind, OTHERS)
        found.setdefault(key, []).append(row)
    made = [
        Cause(
            agent,
            kind,
            alike if alike == OTHERS else merged(error[row] or "no message" for row in rows),
            count=len(rows),
            example=_key(trials, rows[0]),
        )
        for (agent, kind, alike), rows in found.items()
    ]
    return tuple(sorted(made, key=lambda c: (-c.count, c.agent, c.outcome, c.message)))


def _key(trials: Trials, row: int) -> str:
    agent, task = trials.pairs[int(trials["cell"][row])]
    return Trial(agent, task, int(trials["index"][row]), int(trials["seed"][row])).key


def extreme_trials(trials: Trials, ranked: Sequence[str]) -> tuple[Extreme, ...]:
    """Of the first agents in rank order: the trials with the lowest scores, then those with the longest wall times;
    ties in the order of the plan. Agents with fewer than twice as many trials have none: all of them are in sight."""
    counted = SCORED[trials["outcome"]] & ~trials["after_stop"]
    owner = np.array([agent for agent, _ in trials.pairs])[trials["cell"]]
    found: list[Extreme] = []
    for kind, key in (("worst", trials["score"]), ("slowest", -trials["wall_time_s"])):
        for agent in ranked[:AGENTS]:
            rows = np.flatnonzero(counted & (owner == agent) & np.isfinite(key))
            if len(rows) < 2 * EACH or np.ptp(key[rows]) == 0:
                continue
            for row in rows[np.argsort(key[rows], kind="stable")[:EACH]].tolist():
                (agent, task), time = trials.pairs[int(trials["cell"][row])], float(trials["wall_time_s"][row])
                seconds = time if np.isfinite(time) else None
                found.append(Extreme(**facts(trials, row), kind=kind, agent=agent, task=task, wall_time_s=seconds))
    return tuple(found)


def filmed(trials: Trials) -> np.ndarray:
    """Which trials have a video."""
    return _there(trials["video"]) & ~trials["after_stop"]


def _there(texts: np.ndarray) -> np.ndarray:
    return np.array([text is not None for text in texts], bool)


def filmed_trials(trials: Trials, ranked: Sequence[str]) -> tuple[Picked, ...]:
    """The videos to look at: failures before successes; among either, of every agent and task the first, then the
    second, and so on."""
    rows, won = np.flatnonzero(filmed(trials)), trials["outcome"] == OUTCOMES.index(Outcome.SUCCESS)
    place, seen = {agent: rank for rank, agent in enumerate(ranked)}, dict[tuple[int, bool], int]()
    keys = []
    for row in rows.tolist():
        cell, success = int(trials["cell"][row]), bool(won[row])
        turn = seen[cell, success] = seen.get((cell, success), 0) + 1
        keys.append((success, turn, place[trials.pairs[cell][0]], cell, row))
    return tuple(_picked(trials, row) for *_, row in sorted(keys)[:FILMED])


def worst_trials(trials: Trials, ranked: Sequence[str]) -> tuple[Picked, ...]:
    """Trials with a record, those that were no success first: of the first agents the one with the lowest score, then
    the second lowest of each, and so on; ties in the order of the plan."""
    recorded = SCORED[trials["outcome"]] & ~trials["after_stop"] & _there(trials["npz"])
    won = trials["outcome"] == OUTCOMES.index(Outcome.SUCCESS)
    owner = np.array([agent for agent, _ in trials.pairs])[trials["cell"]]
    score = np.where(np.isfinite(trials["score"]), trials["score"], -np.inf)
    found = []
    for rank, agent in enumerate(ranked[:WORST]):
        rows = np.flatnonzero(recorded & (owner == agent))
        worst = rows[np.lexsort((score[rows], won[rows]))][:WORST]
        found += [(bool(won[row]), turn, rank, row) for turn, row in enumerate(worst.tolist())]
    return tuple(_picked(trials, row) for *_, row in sorted(found)[:WORST])


def _picked(trials: Trials, row: int) -> Picked:
    agent, task = trials.pairs[int(trials["cell"][row])]
    return Picked(**facts(trials, row), agent=agent, task=task)
