"""The trials to look at first: the worst and the slowest of every agent."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from proctor.record.columns import OUTCOMES, SCORED
from proctor.report.build.accumulate import RunColumns
from proctor.report.model import Extreme

AGENTS, EACH = 8, 3


def extreme_trials(columns: RunColumns, ranked: Sequence[str]) -> tuple[Extreme, ...]:
    """Of the first agents in rank order: the trials with the lowest scores, then those with the longest wall times;
    ties in the order of the plan. Agents with fewer than twice as many trials have none: all of them are in sight."""
    trials = columns.trials
    counted = SCORED[trials["outcome"]] & ~trials["after_stop"]
    owner = np.array([agent for agent, _ in trials.pairs])[trials["cell"]]
    found: list[Extreme] = []
    for kind, key in (("worst", trials["score"]), ("slowest", -trials["wall_time_s"])):
        for agent in ranked[:AGENTS]:
            rows = np.flatnonzero(counted & (owner == agent) & np.isfinite(key))
            if len(rows) < 2 * EACH or np.ptp(key[rows]) == 0:
                continue
            first = rows[np.argsort(key[rows], kind="stable")[:EACH]]
            found += [_extreme(columns, kind, int(row)) for row in first]
    return tuple(found)


def _extreme(columns: RunColumns, kind: str, row: int) -> Extreme:
    trials = columns.trials
    agent, task = trials.pairs[int(trials["cell"][row])]
    score = float(trials["score"][row])
    return Extreme(
        kind=kind,
        agent=agent,
        task=task,
        index=int(trials["index"][row]),
        seed=int(trials["seed"][row]),
        outcome=OUTCOMES[trials["outcome"][row]].value,
        score=score if np.isfinite(score) else None,
        steps=int(trials["steps_total"][row]),
        wall_time_s=float(trials["wall_time_s"][row]),
        npz=trials["npz"][row],
        video=trials["video"][row],
    )
