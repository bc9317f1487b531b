"""Short forms of a config, written out: `workers: 4`, `record: series`, `scoring: success`, `loggers:
[csv]`, `tasks: [CartPole-v1]`."""

from __future__ import annotations

from typing import Any

from proctor.config.models import RecordCfg, ScoringCfg, WorkersCfg

_MODELS = {"workers": WorkersCfg, "record": RecordCfg, "scoring": ScoringCfg}


def expand_shorthands(data: dict[str, Any]) -> None:
    """Write out the short forms in place. What is no short form stays as it is, for validation to judge."""
    for key, model in _MODELS.items():
        if key in data:
            data[key] = model.expand(data[key])
    if isinstance(data.get("loggers"), list):
        data["loggers"] = [{"kind": entry} if isinstance(entry, str) else entry for entry in data["loggers"]]
    if isinstance(data.get("tasks"), list):
        data["tasks"] = [task_from_id(t) if isinstance(t, str) else t for t in data["tasks"]]


def task_from_id(env_id: str) -> dict[str, Any]:
    """A plain text among the tasks is the id of a Gymnasium environment."""
    return {"suite": "gymnasium", "options": {"id": env_id}}
