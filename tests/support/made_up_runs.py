"""Run folders of made-up outcomes, without running anything."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from proctor.config.models import AgentCfg, EvalConfig, ScoringCfg, TaskCfg
from proctor.plan.plan import Plan
from proctor.record.rundir import RunDir
from proctor_host.episode import Outcome
from proctor_host.result import TrialResult
from proctor_host.trials import Trial

Wins = Callable[[Trial], Any]
"""What came of a trial: True or False, an Outcome, a TrialResult's fields as a mapping, or None: not run."""


def config(root: Path, agents: tuple[str, ...], tasks: tuple[Any, ...] = ("reach",), **keys: Any) -> EvalConfig:
    """Tasks by name, or written out."""
    return EvalConfig.model_validate(
        {
            "name": keys.pop("name", "made-up"),
            "agents": tuple(AgentCfg(name=name, policy="random") for name in agents),
            "tasks": tuple(TaskCfg(suite="gymnasium", name=t) if isinstance(t, str) else t for t in tasks),
            "n_trials": 20,
            "output_root": str(root),
            "scoring": ScoringCfg(mode="success"),
            **keys,
        }
    )


def made_up(cfg: EvalConfig, wins: Wins, versions: Mapping[str, str] | None = None) -> RunDir:
    """A finished run of `cfg` in which every trial ended as `wins` says."""
    run = RunDir.create(cfg, datetime(2026, 1, 5, 12))
    with run.ledger() as ledger:
        ledger.add(Plan(cfg).placed())
        ledger.finish(result for trial in Plan(cfg) if (result := ended(trial, wins(trial))) is not None)
    run.write_json("environment.json", {"current": {"versions": dict(versions or {})}})
    return run


def ended(trial: Trial, how: Any) -> TrialResult | None:
    if how is None:
        return None
    fields = dict(how) if isinstance(how, Mapping) else {"outcome": how}
    outcome = fields.pop("outcome", True)
    if isinstance(outcome, bool):
        outcome = Outcome.SUCCESS if outcome else Outcome.FAILURE
    won = outcome is Outcome.SUCCESS
    defaults = {
        "steps_total": 10,
        "steps_to_success": 10 if won else None,
        "first_success": 10 if won else None,
        "episode_reward": float(won),
        "max_steps": 50,
    }
    return TrialResult(trial=trial, outcome=outcome, success=won, **{**defaults, **fields})


def run_of(
    root: Path, name: str, wins: Callable[[Any], Any], agents: tuple[str, ...] = ("policy",), **keys: Any
) -> Path:
    versions = keys.pop("versions", None)
    return made_up(config(root / name, agents, name=name, **keys), wins, versions).path


def below(limit: int) -> Callable[[Any], bool]:
    return lambda trial: trial.index < limit
