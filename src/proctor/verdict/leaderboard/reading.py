"""The trials of a run folder as columns, with what each term of the score contributed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from proctor.config.models import EvalConfig
from proctor.record.batch import TrialBatch, prints
from proctor.record.ledger import Ledger
from proctor.scoring import Scoring
from proctor.scoring.columns import BROKEN, UNSCORED, score_batch
from proctor.verdict.comparison import TaskTrials


@dataclass(frozen=True, eq=False)
class Trials:
    """One agent on one task. `terms`: name to what it contributed to each scored trial's score, NaN where the policy
    broke the trial; with none, the score is no sum of terms."""

    trials: TaskTrials
    terms: Mapping[str, np.ndarray] = field(default_factory=dict)


@dataclass(frozen=True)
class Recorded:
    """What a run has of every (agent, task), and the names of the metrics by task."""

    cells: Mapping[tuple[str, str], Trials]
    metrics: Mapping[str, list[str]]


def read_trials(ledger: Ledger, cfg: EvalConfig, scoring: Scoring) -> Recorded:
    """Finished trials but those after a stop, each scored once."""
    parts = [_part(batch, scoring) for batch in ledger.batches()]
    names = dict.fromkeys(name for part in parts for name in part)
    whole = {name: np.concatenate([_column(part, name) for part in parts]) for name in names}
    cells = {
        (agent.name, task.name): _cell(whole, agent.name, task.name, scoring)
        for agent in cfg.agents
        for task in cfg.tasks
    }
    return Recorded(cells, {task.name: _metrics_of(whole, task.name) for task in cfg.tasks})


def _part(batch: TrialBatch, scoring: Scoring) -> dict[str, np.ndarray]:
    scores = score_batch(scoring, batch)
    _, found = prints(batch["trace"])
    broken = BROKEN[batch.outcome_codes]
    return {
        "agent": np.array(batch["agent"], object),
        "task": np.array(batch["task"], object),
        "index": np.array(batch["index"], np.int64),
        "seed": np.array(batch["seed"], np.int64),
        "success": np.array(batch["success"], bool),
        "kept": ~np.array(batch["after_stop"], bool),
        "unscored": UNSCORED[batch.outcome_codes],
        "prints": np.where(broken, np.uint64(0), found),
        "score": scores.total,
        **{f"term {name}": column for name, column in scores.components.columns.items()},
        **{f"metric {name}": column for name, column in batch.metrics.columns.items()},
    }


def _column(part: dict[str, np.ndarray], name: str) -> np.ndarray:
    return part[name] if name in part else np.full(len(part["agent"]), np.nan)


def _cell(whole: Mapping[str, np.ndarray], agent: str, task: str, scoring: Scoring) -> Trials:
    if not whole:
        return Trials(TaskTrials(*(np.empty(0, kind) for kind in (np.int64, bool, float, np.uint64))))
    rows = np.flatnonzero((whole["agent"] == agent) & (whole["task"] == task) & whole["kept"])
    scored, unscored = rows[~whole["unscored"][rows]], rows[whole["unscored"][rows]]
    trials = TaskTrials(
        index=whole["index"][scored],
        success=whole["success"][scored],
        score=whole["score"][scored],
        prints=whole["prints"][scored],
        unscored=whole["index"][unscored],
        seed=whole["seed"][scored],
    )
    terms = [name for name in scoring.term_weights(task) if f"term {name}" in whole]
    return Trials(trials, {name: whole[f"term {name}"][scored] for name in terms})


def _metrics_of(whole: Mapping[str, np.ndarray], task: str) -> list[str]:
    rows = whole["task"] == task if whole else np.empty(0, bool)
    names = [name for name in whole if name.startswith("metric ")]
    return [name.removeprefix("metric ") for name in names if np.isfinite(whole[name][rows]).any()]
