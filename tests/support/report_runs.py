"""Made-up but plausible runs: agents of different skill on tasks of different difficulty, with faults."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from proctor.config.models import AgentCfg, EvalConfig, ScoringCfg, TaskCfg
from proctor.report import ReportContext
from proctor_host.episode import Outcome
from proctor_host.result import TrialResult
from proctor_host.trials import Trial

ERRORS = {
    Outcome.POLICY_ERROR: "ValueError: stack of 3 frames expected, got 2\nTraceback: ...",
    Outcome.INVALID_ACTION: "action has NaN in entries 0, 2 at step 41",
    Outcome.ENV_ERROR: "FatalError: simulation unstable at 1.84 s",
    Outcome.TIMEOUT: "one step took longer than 60 s",
    Outcome.WORKER_LOST: "worker 1 ended with signal 11",
}


@dataclass(frozen=True)
class Run:
    cfg: EvalConfig
    results: list[TrialResult]
    context: ReportContext


def make_config(agents: list[str], tasks: list[str], n_trials: int, **scoring: object) -> EvalConfig:
    return EvalConfig(
        name="reach and insert",
        agents=tuple(
            AgentCfg(name=name, policy="onnx", checkpoint=f"models/{i}.onnx") for i, name in enumerate(agents)
        ),
        tasks=tuple(TaskCfg(suite="gymnasium", name=name) for name in tasks),
        n_trials=n_trials,
        scoring=ScoringCfg.model_validate({"mode": "default_v1", **scoring}),
    )


def make_result(trial: Trial, skill: float, faults: float, rng: np.random.Generator) -> TrialResult:
    success = bool(rng.random() < skill)
    outcome = Outcome.SUCCESS if success else (Outcome.FAILURE if rng.random() < 0.5 else Outcome.TRUNCATED)
    if rng.random() < faults:
        outcome = list(ERRORS)[int(rng.integers(len(ERRORS)))]
    success = outcome is Outcome.SUCCESS
    steps = int(rng.integers(60, 180) / (0.3 + skill)) if success else (400 if outcome is Outcome.TRUNCATED else 230)
    speed, force = float(rng.gamma(4, 5)), float(rng.gamma(2, 0.12))
    return TrialResult(
        trial=trial,
        outcome=outcome,
        success=success,
        steps_total=steps,
        steps_to_success=steps if success else None,
        first_success=steps if success else None,
        episode_reward=float(rng.normal(10 * skill, 3)) if outcome.scored else None,
        max_steps=400,
        attempts=1 if outcome.scored else 3,
        clipped_steps=int(rng.integers(0, 9)) if rng.random() < 0.1 else 0,
        wall_time_s=float(rng.gamma(3, 0.4)),
        sim_time_s=steps * 0.02,
        metrics={
            "tip_speed_max_mm_s": speed,
            "wall_wire_force_norm_max": force,
            "wall_force_max": force,
            "action_rate_mean": float(rng.gamma(2, 0.1)),
            "path_ratio_last": None if rng.random() < 0.1 else float(rng.random()),
        },
        error=ERRORS.get(outcome),
        npz=f"trials/{trial.key.replace('/', '_')}.npz" if outcome.scored else None,
        trace=f"{int(rng.integers(2**63)):016x}" + "0" * 48,
    )


def make_run(agents: list[str], tasks: list[str], n_trials: int, *, faults: float = 0.06, **scoring: object) -> Run:
    cfg = make_config(agents, tasks, n_trials, **scoring)
    rng = np.random.default_rng(7)
    results = [
        make_result(
            Trial(agent, task, i, cfg.base_seed + i),
            skill=max(0.03, 0.92 - 0.27 * (a % 4) - 0.14 * t),
            faults=faults,
            rng=rng,
        )
        for a, agent in enumerate(agents)
        for t, task in enumerate(tasks)
        for i in range(n_trials)
    ]
    context = ReportContext(
        generated_at="2026-01-05T12:00:00+00:00",
        environment={
            "python": "3.11.9",
            "numpy": "2.2.1",
            "host": {"cpu": "8 cores", "system": "Linux"},
            "git": "1f0c2aa",
        },
        duration_s=192.4,
        batch={"steady": {"act": {"forwards": 4211, "rows": 47600, "seconds": 12.5}}},
        spent={"environment": 40.0, "inference": 12.5, "transfer": 3.0, "waiting": 9.0, "recording": 0.5},
    )
    return Run(cfg, results, context)


def of_suite(run: Run, suite: str) -> Run:
    """The same run, with its tasks in another suite."""
    tasks = tuple(task.model_copy(update={"suite": suite}) for task in run.cfg.tasks)
    return replace(run, cfg=run.cfg.model_copy(update={"tasks": tasks}))
