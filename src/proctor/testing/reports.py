"""Made-up runs for the laws of report sections and formats."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from proctor.config.models import AgentCfg, EvalConfig, ReportCfg, ScoringCfg, TaskCfg
from proctor.plan.trial import Trial
from proctor.record.episode import Outcome
from proctor.record.npz import write_npz
from proctor.record.result import TrialResult
from proctor.report.model import ReportContext

AGENTS = ("steady", "hasty")
HOSTILE = ("<script>alert('a')</script>", 'b" onload="x & | `c` *d* [e](f)')
"""Names that do harm where they are not escaped."""
N_TRIALS = 4
CONTEXT = ReportContext(generated_at="2026-01-05T12:00:00+00:00", duration_s=12.0)

Record = Callable[[Trial], Mapping[str, np.ndarray] | None]


def made_up_config(suite: str, agents: Sequence[str], sections: Sequence[str] | None = None) -> EvalConfig:
    """Two tasks of a suite, scored by success."""
    return EvalConfig(
        name=f"run of {agents[0]}",
        agents=tuple(AgentCfg(name=name, policy="random") for name in agents),
        tasks=tuple(TaskCfg(suite=suite, name=name) for name in (f"reach {agents[0]}", "push")),
        n_trials=N_TRIALS,
        scoring=ScoringCfg(mode="success"),
        report=ReportCfg(sections=None if sections is None else tuple(sections)),
    )


def made_up_results(cfg: EvalConfig, folder: Path, metrics: Mapping[str, float], record: Record) -> list[TrialResult]:
    """Every planned trial, in the order of the plan: some succeed, and one of each cell is lost. What `record` gives
    for a trial is written as its record."""
    (folder / "trials").mkdir(parents=True, exist_ok=True)
    found = []
    for a, agent in enumerate(cfg.agents):
        for t, task in enumerate(cfg.tasks):
            for i in range(N_TRIALS):
                trial = Trial(agent.name, task.name, i, cfg.base_seed + i)
                arrays = record(trial)
                npz = None if arrays is None else f"trials/{a}_{t}_{i}.npz"
                if npz is not None and arrays is not None:
                    write_npz(folder / npz, dict(arrays))
                found.append(_result(trial, metrics, npz, skilled=(a + i) % 2 == 0))
    return found


def _result(trial: Trial, metrics: Mapping[str, float], npz: str | None, *, skilled: bool) -> TrialResult:
    lost = trial.index == N_TRIALS - 1
    outcome = Outcome.WORKER_LOST if lost else Outcome.SUCCESS if skilled else Outcome.FAILURE
    return TrialResult(
        trial=trial,
        outcome=outcome,
        success=outcome is Outcome.SUCCESS,
        steps_total=20 + trial.index,
        steps_to_success=20 + trial.index if outcome is Outcome.SUCCESS else None,
        episode_reward=float(trial.index),
        max_steps=100,
        metrics={name: value * (1 + 0.1 * trial.index) for name, value in metrics.items()},
        error=f"lost with {trial.agent}\nsecond line" if lost else None,
        npz=None if lost else npz,
        trace=f"{zlib.crc32(trial.key.encode()):016x}",
        case=f"case {trial.index} of {trial.agent}",
    )
