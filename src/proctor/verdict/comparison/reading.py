"""The trials of a run folder as columns, read in bulk: a hundred thousand in a fraction of a second."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from proctor.config.models import EvalConfig
from proctor.record.batch import prints
from proctor.record.ledger import Ledger
from proctor.scoring import Scoring, make_scoring
from proctor.scoring.bulk import bulk_reads, bulk_totals
from proctor.scoring.columns import BROKEN, UNSCORED
from proctor.verdict.comparison.trials import AgentTrials, TaskTrials

IMPORTED = "imported"
"""The suite of tasks whose outcomes were read from a file."""
WHERE = ("agent_position", "task_position", "idx", "seed")

Columns = dict[str, np.ndarray]


def read_agents(ledger: Ledger, cfg: EvalConfig, tasks: Sequence[str]) -> list[AgentTrials]:
    """Every agent of the config on these of its tasks."""
    columns = _columns(ledger, make_scoring(cfg.scoring), cfg)
    where = {task.name: i for i, task in enumerate(cfg.tasks)}
    return [
        AgentTrials(agent.name, {task: _cell(columns, i, where[task]) for task in tasks}, pairs_of(cfg))
        for i, agent in enumerate(cfg.agents)
    ]


def pairs_of(cfg: EvalConfig) -> bool:
    """Whether trials of one index began alike: always for trials that Proctor ran."""
    return all(task.options.get("pairs", False) for task in cfg.tasks if task.suite == IMPORTED)


def _columns(ledger: Ledger, scoring: Scoring, cfg: EvalConfig) -> Columns:
    """Sorted by agent, task and index."""
    known = bulk_reads(scoring)
    read, metrics = (("success",), ()) if known is None else known
    raw = ledger.columns((*WHERE, "outcome", "trace", *read), metrics)
    codes = np.array(raw.pop("outcome"), dtype=np.intp)
    _, traces = prints(raw.pop("trace"))
    columns: Columns = {
        name: np.array(values, dtype=np.int64 if name in WHERE else np.float64) for name, values in raw.items()
    }
    columns |= {"scored": ~UNSCORED[codes], "broken": BROKEN[codes]}
    columns["prints"] = np.where(columns["broken"], np.uint64(0), traces)
    columns["score"] = _scores(ledger, scoring, cfg, columns) if known is None else bulk_totals(scoring, columns)
    order = np.lexsort([columns[name] for name in ("idx", "task_position", "agent_position")])
    return {name: column[order] for name, column in columns.items()}


def _scores(ledger: Ledger, scoring: Scoring, cfg: EvalConfig, columns: Columns) -> np.ndarray:
    """By a scoring that reads whole results; in the order of the columns."""
    agents = {agent.name: i for i, agent in enumerate(cfg.agents)}
    tasks = {task.name: i for i, task in enumerate(cfg.tasks)}
    totals = {
        (agents[r.trial.agent], tasks[r.trial.task], r.trial.index): scoring.score(r).total for r in ledger.results()
    }
    keys = zip(*(columns[name].tolist() for name in WHERE[:3]), strict=True)
    return np.array([totals.get(key) for key in keys], dtype=np.float64)


def _cell(columns: Columns, agent: int, task: int) -> TaskTrials:
    first, last = np.searchsorted(columns["agent_position"], [agent, agent + 1])
    low, high = first + np.searchsorted(columns["task_position"][first:last], [task, task + 1])
    own = {name: columns[name][low:high] for name in ("idx", "seed", "success", "score", "prints", "scored")}
    scored = own["scored"]
    return TaskTrials(
        index=own["idx"][scored],
        success=own["success"][scored] > 0,
        score=own["score"][scored],
        prints=own["prints"][scored],
        unscored=own["idx"][~scored],
        seed=own["seed"][scored],
    )
