"""Case by case: the trials of a task that name what they are about (a motion, an instruction), grouped by it, worst
first."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from proctor.report.build.accumulate import CaseTrial, CellColumns
from proctor.report.build.estimates import Estimator
from proctor.report.model import Case, CaseTable
from proctor.report.section import CaseLayout

BY_SCORE = CaseLayout("score", ())


def case_tables(
    cells: Sequence[CellColumns], estimate: Estimator, layouts: Sequence[CaseLayout]
) -> tuple[CaseTable, ...]:
    """A table for every cell whose trials name their cases, in the first layout whose metric they have."""
    return tuple(_table(cell, estimate, _layout(cell, layouts)) for cell in cells if cell.cases)


def _layout(cell: CellColumns, layouts: Sequence[CaseLayout]) -> CaseLayout:
    return next((layout for layout in layouts if layout.order in cell.metrics), BY_SCORE)


def _table(cell: CellColumns, estimate: Estimator, layout: CaseLayout) -> CaseTable:
    order = layout.order
    shown = dict.fromkeys((layout.order, *layout.shown))
    columns = {name: np.asarray(cell.metrics[name]) for name in shown if name in cell.metrics}
    badness = -np.asarray(cell.score) if order == "score" else np.asarray(cell.metrics[order])
    badness = np.where(np.isnan(badness), math.inf, badness)
    score = np.asarray(cell.score)
    cases = [
        Case(
            case=name,
            n=len(trials),
            successes=sum(trial.success for trial in trials),
            score=estimate.metric("", score[rows]),
            metrics={metric: estimate.metric(metric, column[rows]) for metric, column in columns.items()},
            npz=_worst(trials, badness).npz,
        )
        for name, trials in cell.cases.items()
        for rows in [[trial.row for trial in trials]]
    ]
    worst_first = sorted(cases, key=lambda case: (-_mean_badness(cell.cases[case.case], badness), case.case))
    return CaseTable(cell.agent, cell.task, order, tuple(worst_first), layout.shares)


def _worst(trials: Sequence[CaseTrial], badness: np.ndarray) -> CaseTrial:
    """The worst of the trials that have a record, or of all; the first among equals."""
    return max([t for t in trials if t.npz is not None] or trials, key=lambda trial: badness[trial.row])


def _mean_badness(trials: Sequence[CaseTrial], badness: np.ndarray) -> float:
    """A trial without a value is worse than any number."""
    return float(np.mean([badness[trial.row] for trial in trials]))
