"""The columns of a run cell by cell: what each agent did on each task, and what broke trials."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from proctor.config.models import EvalConfig
from proctor.plan.trial import Trial
from proctor.record.batch import TrialBatch
from proctor.record.columns import BROKEN, OUTCOMES, SCORED, Trials
from proctor.report.model import Cause, Mark
from proctor.scoring import Scoring
from proctor.scoring.trials import scored_trials

MARKS_IN_ALL, MARKS_PER_CELL, MARKS_AT_LEAST = 6000, 200, 20
MAX_CAUSES = 200


class CaseTrial(NamedTuple):
    """A scored trial that names its case: its row in the columns, and what they do not hold."""

    row: int
    success: bool
    npz: str | None


@dataclass(frozen=True, eq=False, slots=True)
class CellColumns:
    """The scored trials of one (agent, task) as columns; NaN where a trial has no such value. Trials after the stop
    are counted and in nothing else."""

    agent: str
    task: str
    successes: int
    n_trials: int
    max_steps: int | None
    score: np.ndarray
    steps_total: np.ndarray
    steps_to_success: np.ndarray
    wall_time_s: np.ndarray
    components: dict[str, np.ndarray]
    metrics: dict[str, np.ndarray]
    outcomes: Counter[str]
    traces: np.ndarray
    clipped_steps: int
    clipped_trials: int
    retried_trials: int
    after_stop: int
    marks: list[Mark]
    cases: dict[str, list[CaseTrial]] = field(default_factory=dict)

    @property
    def n(self) -> int:
        return len(self.score)


class RunColumns:
    """All cells of a run, in the order of the config, and what broke trials."""

    def __init__(self, cfg: EvalConfig, batches: Iterable[TrialBatch], scoring: Scoring):
        self.trials = trials = scored_trials(cfg, batches, scoring)
        cap = min(MARKS_PER_CELL, max(MARKS_AT_LEAST, MARKS_IN_ALL // len(trials.pairs)))
        self.cells = {pair: _cell(trials, cell, cap) for cell, pair in enumerate(trials.pairs)}

    def causes(self) -> tuple[Cause, ...]:
        """Most frequent first, ties by name. Beyond MAX_CAUSES different messages, further ones are counted
        together."""
        found: dict[tuple[str, str, str], list[int]] = {}
        trials, outcome = self.trials, self.trials["outcome"]
        for row in np.flatnonzero((BROKEN[outcome] | ~SCORED[outcome]) & ~trials["after_stop"]).tolist():
            agent, kind = trials.pairs[trials["cell"][row]][0], OUTCOMES[outcome[row]].value
            key = (agent, kind, trials["error"][row] or "no message")
            if key not in found and len(found) >= MAX_CAUSES:
                key = (agent, kind, "other messages")
            found.setdefault(key, [0, row])[0] += 1
        causes = [Cause(*key, count=count, example=self._key(row)) for key, (count, row) in found.items()]
        return tuple(sorted(causes, key=lambda c: (-c.count, c.agent, c.outcome, c.message)))

    def _key(self, row: int) -> str:
        trials = self.trials
        agent, task = trials.pairs[int(trials["cell"][row])]
        return Trial(agent, task, int(trials["index"][row]), int(trials["seed"][row])).key


def _cell(trials: Trials, cell: int, cap: int) -> CellColumns:
    """The trials of one cell, in their order."""
    rows = trials.rows(*trials.pairs[cell])
    kept = rows[~trials["after_stop"][rows]]
    scored = kept[SCORED[trials["outcome"][kept]]]
    broken = BROKEN[trials["outcome"][scored]]
    success, clipped = trials["success"][scored], trials["clipped_steps"][scored]
    counts = np.bincount(trials["outcome"][kept], minlength=len(OUTCOMES)).tolist()
    return CellColumns(
        *trials.pairs[cell],
        successes=int(success.sum()),
        n_trials=len(kept),
        max_steps=int(trials["max_steps"][kept].max()) if len(kept) else None,
        score=trials["score"][scored],
        steps_total=trials["steps_total"][scored].astype(np.float64),
        steps_to_success=np.where(success, trials["steps_to_success"][scored], np.nan),
        wall_time_s=trials["wall_time_s"][scored],
        components={name: trials.components[name][scored] for name in sorted(trials.cell_components[cell])},
        metrics={name: trials.metrics[name][scored] for name in sorted(trials.cell_metrics[cell])},
        outcomes=Counter({outcome.value: n for outcome, n in zip(OUTCOMES, counts, strict=True) if n}),
        traces=trials["print"][scored][trials["traced"][scored] & ~broken],
        clipped_steps=int(clipped.sum()),
        clipped_trials=int((clipped > 0).sum()),
        retried_trials=int((trials["attempts"][kept] > 1).sum()),
        after_stop=len(rows) - len(kept),
        marks=[_mark(trials, row) for row in kept[:cap].tolist()],
        cases=_cases(trials, scored),
    )


def _mark(trials: Trials, row: int) -> Mark:
    score = float(trials["score"][row])
    return Mark(
        index=int(trials["index"][row]),
        seed=int(trials["seed"][row]),
        outcome=OUTCOMES[trials["outcome"][row]].value,
        steps=int(trials["steps_total"][row]),
        score=None if np.isnan(score) else score,
        npz=trials["npz"][row],
        video=trials["video"][row],
    )


def _cases(trials: Trials, scored: np.ndarray) -> dict[str, list[CaseTrial]]:
    found: dict[str, list[CaseTrial]] = {}
    values = zip(*(trials[name][scored].tolist() for name in ("case", "success", "npz")), strict=True)
    for position, (case, success, npz) in enumerate(values):
        if case is not None:
            found.setdefault(case, []).append(CaseTrial(position, success, npz))
    return found
