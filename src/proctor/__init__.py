"""Proctor examines embodied agents.

    from proctor import load_config, run_evaluation

    run = run_evaluation(load_config("examination.yml"))
    print(run.path, run.report()["agents"][0]["agent"])

Names are imported when first used, so `import proctor` costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from proctor.config import ConfigError, EvalConfig, config_from_dict, load_config
    from proctor.errors import InputError, ProctorError, RunError
    from proctor.metrics import Metric
    from proctor.plan.trial import Trial
    from proctor.policies.padding import LeftPad
    from proctor.policies.protocol import (
        Actions,
        Batch,
        Execute,
        Fail,
        Goto,
        Idle,
        Policy,
        SpaceInfo,
        Stage,
        StagedPolicy,
        StageOutput,
        Unavailable,
    )
    from proctor.record.episode import Episode, Outcome
    from proctor.record.result import TrialResult
    from proctor.record.rundir import RunDir
    from proctor.rollout.progress import CancelToken, Progress
    from proctor.runs.start import run_evaluation
    from proctor.scoring import Score, Scoring

_HOME = {
    "proctor.config": ("ConfigError", "EvalConfig", "config_from_dict", "load_config"),
    "proctor.errors": ("InputError", "ProctorError", "RunError"),
    "proctor.runs.start": ("run_evaluation",),
    "proctor.policies.protocol": (
        "Actions", "Batch", "Execute", "Fail", "Goto", "Idle", "Policy", "SpaceInfo", "Stage", "StageOutput",
        "StagedPolicy", "Unavailable",
    ),
    "proctor.policies.padding": ("LeftPad",),
    "proctor.metrics": ("Metric",),
    "proctor.plan.trial": ("Trial",),
    "proctor.record.episode": ("Episode", "Outcome"),
    "proctor.record.result": ("TrialResult",),
    "proctor.scoring": ("Score", "Scoring"),
    "proctor.record.rundir": ("RunDir",),
    "proctor.rollout.progress": ("CancelToken", "Progress"),
}  # fmt: skip
_WHERE = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "Actions", "Batch", "CancelToken", "ConfigError", "Episode", "EvalConfig", "Execute", "Fail", "Goto", "Idle",
    "InputError", "LeftPad", "Metric", "Outcome", "Policy", "ProctorError", "Progress", "RunDir", "RunError", "Score",
    "Scoring", "SpaceInfo", "Stage", "StageOutput", "StagedPolicy", "Trial", "TrialResult", "Unavailable",
    "__version__", "config_from_dict", "load_config", "run_evaluation",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(importlib.import_module(_WHERE[name]), name)
    raise AttributeError(f"module 'proctor' has no attribute {name!r}")


def __dir__() -> list[str]:
    return list(__all__)
