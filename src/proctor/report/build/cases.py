"""Case by case: the trials of a task that name what they are about (a motion, an instruction), grouped by it, worst
first."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from proctor.report.build.accumulate import CaseTrial, CellColumns
from proctor.report.model import Case, CaseTable, MetricEstimate

SHOWN = (
    "emd",
    "mpjpe_xpos",
    "root_pos_error_m",
    "torso_rot_error_rad",
    "upright_share",
    "first_fall_s",
    "frames_cut",
)
"""Metrics that have a column of their own in a table of cases, where they were recorded."""

FIRST = "emd"
"""The metric that cases are ordered by, where it was recorded; else it is the score."""


class Estimate(Protocol):
    """What makes one number of the values of a metric."""

    def metric(self, name: str, values: np.ndarray) -> MetricEstimate: ...


def case_tables(cells: Sequence[CellColumns], estimate: Estimate) -> tuple[CaseTable, ...]:
    """A table for every cell whose trials name their cases."""
    return tuple(_table(cell, estimate) for cell in cells if cell.cases)


def _table(cell: CellColumns, estimate: Estimate) -> CaseTable:
    order = FIRST if FIRST in cell.metrics else "score"
    columns = {name: np.asarray(cell.metrics[name]) for name in SHOWN if name in cell.metrics}
    badness = columns[FIRST] if order == FIRST else -np.asarray(cell.score)
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
    return CaseTable(cell.agent, cell.task, order, tuple(worst_first))


def _worst(trials: Sequence[CaseTrial], badness: np.ndarray) -> CaseTrial:
    """The worst of the trials that have a record, or of all; the first among equals."""
    return max([t for t in trials if t.npz is not None] or trials, key=lambda trial: badness[trial.row])


def _mean_badness(trials: Sequence[CaseTrial], badness: np.ndarray) -> float:
    """A trial without a value is worse than any number."""
    return float(np.mean([badness[trial.row] for trial in trials]))
