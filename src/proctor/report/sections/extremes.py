"""The trials to look at first: the worst and the slowest of every agent, with their recordings."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote

import numpy as np

from proctor.record.columns import OUTCOMES, SCORED
from proctor.report import text
from proctor.report.build.accumulate import Columns
from proctor.report.draw.markup import lead, table
from proctor.report.draw.svg import esc
from proctor.report.model import Extreme, Report

AGENTS, EACH = 8, 3


def extreme_trials(columns: Columns, ranked: Sequence[str]) -> tuple[Extreme, ...]:
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


def _extreme(columns: Columns, kind: str, row: int) -> Extreme:
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


def extremes(report: Report) -> str:
    """Both tables; "" where no agent has trials that stand out."""
    if not report.extremes:
        return ""
    words = (
        f"Up to {EACH} trials of each of the first {AGENTS} agents. Start here to see what goes wrong; a seed leads to "
        "the trial's recording."
    )
    return lead(words) + f'<div class="pair">{_table(report, "worst")}{_table(report, "slowest")}</div>'


def _table(report: Report, kind: str) -> str:
    rows = [_row(trial) for trial in report.extremes if trial.kind == kind]
    caption = "Lowest scores" if kind == "worst" else "Longest wall times"
    header = ["Agent", "Task", "Seed", "Outcome", "Steps", "Score" if kind == "worst" else "Time"]
    return table(caption, header, rows, "extremes") if rows else ""


def _row(trial: Extreme) -> list[str]:
    last = text.number(trial.score) if trial.kind == "worst" else f"{text.number(trial.wall_time_s, 2)} s"
    cells = [esc(trial.agent), esc(trial.task), _seed(trial), esc(trial.outcome.replace("_", " "))]
    return [*cells, f"{trial.steps:,}", last]


def _seed(trial: Extreme) -> str:
    """The seed, leading to the trial's recording, and its video."""
    what = f"{trial.agent} on {trial.task}, seed {trial.seed}"
    seed = str(trial.seed) if trial.npz is None else _link(trial.npz, f"recording of {what}", str(trial.seed))
    return seed if trial.video is None else f"{seed} {_link(trial.video, f'video of {what}', 'video')}"


def _link(path: str, label: str, words: str) -> str:
    return f'<a href="{esc(quote(path))}" aria-label="{esc(label)}">{words}</a>'
