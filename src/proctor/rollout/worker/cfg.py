"""What a worker needs to know of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from proctor.config.models import LimitsCfg, RecordCfg, TaskCfg
from proctor.plan.trial import Trial


@dataclass(frozen=True)
class WorkerCfg:
    """`tasks` by name. `metrics` are further ones, by import string."""

    folder: Path
    tasks: dict[str, TaskCfg]
    max_episode_steps: int | None
    record: RecordCfg
    limits: LimitsCfg
    metrics: tuple[str, ...]
    brought: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Task options by agent, of those that bring some."""

    def task_of(self, trial: Trial) -> TaskCfg:
        """The trial's task, with the options that its agent brings."""
        return self.tasks[trial.task].with_options(self.brought.get(trial.agent, {}))
