"""Targets of the config against what agents came to, and the trials of a task that name what they are about (a motion,
an instruction) case by case, worst first."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from proctor.metrics import MetricInfo
from proctor.record.columns import Trials
from proctor.report.build.estimates import Estimator
from proctor.report.build.sample import Sample
from proctor.report.model import AgentReport, Case, CaseTable, TargetResult
from proctor.report.section import CaseLayout

BY_SCORE = CaseLayout("score", ())


def case_tables(samples: Sequence[Sample], estimate: Estimator, layouts: Sequence[CaseLayout]) -> tuple[CaseTable, ...]:
    """A table for each of these (agent, task) whose trials name their cases, in the first layout whose metric they
    have."""
    return tuple(table for own in samples if (table := _table(own, estimate, layouts)).cases)


def _table(own: Sample, estimate: Estimator, layouts: Sequence[CaseLayout]) -> CaseTable:
    (pair,), trials, recorded = own.pairs, own.trials, own.names(own.trials.cell_metrics)
    layout = next((layout for layout in layouts if layout.order in recorded), BY_SCORE)
    shown = [name for name in dict.fromkeys((layout.order, *layout.shown)) if name in recorded]
    badness = -trials["score"] if layout.order == "score" else trials.metrics[layout.order]
    badness = np.where(np.isnan(badness), math.inf, badness)  # a trial without a value is worse than any number
    groups: dict[str, list[int]] = {}
    for row, case in zip(own.scored.tolist(), trials["case"][own.scored].tolist(), strict=True):
        if case is not None:
            groups.setdefault(case, []).append(row)
    cases = [
        Case(
            case=name,
            n=len(rows),
            successes=None if pair[1] in trials.without_success else int(trials["success"][rows].sum()),
            score=estimate.metric("", trials["score"][rows]),
            metrics={metric: estimate.metric(metric, trials.metrics[metric][rows]) for metric in shown},
            npz=_worst_record(trials, rows, badness),
        )
        for name, rows in groups.items()
    ]
    worst_first = sorted(cases, key=lambda case: (-float(np.mean(badness[groups[case.case]])), case.case))
    return CaseTable(*pair, layout.order, tuple(worst_first), layout.shares)


def _worst_record(trials: Trials, rows: Sequence[int], badness: np.ndarray) -> str | None:
    """The record of the worst of the trials that have one; the first among equals."""
    return trials["npz"][max([r for r in rows if trials["npz"][r] is not None] or rows, key=lambda row: badness[row])]


def target_results(
    targets: Mapping[str, float], agents: Sequence[AgentReport], infos: Mapping[str, MetricInfo]
) -> tuple[TargetResult, ...]:
    """A result for every target and agent, agents in their order. A metric that nobody knows counts as one where lower
    is better."""
    return tuple(_result(agent, name, target, infos.get(name)) for name, target in targets.items() for agent in agents)


def _result(agent: AgentReport, name: str, target: float, info: MetricInfo | None) -> TargetResult:
    found = agent.overall.metric(name)
    value, interval, n = found.value, found.interval, found.n
    n_scored = sum(cell.summary.n for cell in agent.cells if name in cell.summary.metrics)
    up = info is not None and info.direction == "up"
    sides = [x >= target if up else x <= target for x in (() if value is None else (value, *(interval or ())))]
    return TargetResult(
        agent=agent.agent,
        metric=name,
        unit="?" if info is None else info.unit,
        direction="up" if up else "down",
        target=target,
        value=value,
        interval=interval,
        n=n,
        n_scored=n_scored,
        met=bool(sides) and sides[0] and n == n_scored,
        clear=interval is not None and len(set(sides)) == 1,
    )
