"""A made-up run of motion tracking in a folder: records on disk, and the results that belong to them."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tracking_episodes import episode

from proctor.config.models import AgentCfg, EvalConfig, ScoringCfg, TaskCfg
from proctor.metrics import compute
from proctor.record.batch import batched
from proctor.report import Report, ReportContext, write_reports
from proctor_host.episode import Outcome
from proctor_host.npz import write_npz
from proctor_host.result import TrialResult
from proctor_host.trials import Trial

AGENTS = {"mirror": 0.1, "student": 0.4, "hold": 1.2}
MOTIONS = ("squat", "wave", "bow", "turn")
CONTEXT = ReportContext(generated_at="2026-01-05T12:00:00+00:00", duration_s=12.0)


@dataclass(frozen=True)
class TrackingRun:
    folder: Path
    cfg: EvalConfig
    results: list[TrialResult]

    def report(self) -> Report:
        return write_reports(self.folder, self.cfg, batched(self.results), CONTEXT)


def make_tracking_run(folder: Path, agents: dict[str, float] = AGENTS, **scoring: Any) -> TrackingRun:
    """One trial per agent and motion; an agent's number is the size of its error, growing from motion to motion."""
    cfg = EvalConfig(
        name="motions",
        agents=tuple(AgentCfg(name=name, policy="random") for name in agents),
        tasks=(TaskCfg(suite="tracking", name="g1", n_trials=len(MOTIONS)),),
        scoring=ScoringCfg.model_validate({"mode": "tracking_v1", **scoring}),
    )
    (folder / "trials").mkdir(parents=True)
    results = [
        _result(folder, Trial(agent, "g1", i, cfg.base_seed + i), error * (1 + 0.2 * i), motion)
        for agent, error in agents.items()
        for i, motion in enumerate(MOTIONS)
    ]
    return TrackingRun(folder, cfg, results)


def _result(folder: Path, trial: Trial, error: float, motion: str) -> TrialResult:
    made = episode(error, frames=120, seed=trial.index)
    npz = f"trials/{trial.agent}_{motion}.npz"
    write_npz(folder / npz, made.arrays)
    values = compute(made)
    return TrialResult(
        trial=trial,
        outcome=Outcome.TRUNCATED,
        success=values["success_phc_linf_xpos"] == 1,
        steps_total=made.n_steps,
        steps_to_success=None,
        episode_reward=0.0,
        max_steps=200,
        metrics=values,
        npz=npz,
        trace=f"{zlib.crc32(npz.encode()):016x}",
        case=motion,
    )
