"""Examinations of the toys of `on_device.py`, and what came of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from examining import by_key

from proctor import Run

FILE = Path(__file__).with_name("on_device.py")
W = 6
"""Worlds."""


def toys(**options: Any) -> dict[str, Any]:
    rest = {key: options.pop(key) for key in TASK_KEYS if key in options}
    return {"suite": f"{FILE}:DeviceSuite", "name": "toy", "options": options, **rest}


TASK_KEYS = ("wait_steps", "stop_on_success", "out_of_range", "nan_observations", "max_episode_steps")


def agent(policy: str = "Slope", placement: str = "auto", rows: int = W, **kwargs: Any) -> dict[str, Any]:
    options = {"placement": placement, "pad_to": rows, "kwargs": kwargs}
    return {"name": policy.lower(), "policy": f"{FILE}:{policy}", "options": options}


def contents(found: Run) -> dict[str, Any]:
    """Everything that a trial left: how it ended, and every array with its type, shape and bytes."""
    return {
        key: (
            result.outcome,
            result.success,
            result.steps_to_success,
            result.clipped_steps,
            (result.error or "").split("\n")[0],
            result.trace,
            {
                name: (array.dtype.str, array.shape, np.ascontiguousarray(array).tobytes())
                for name, array in (found.episode(result).arrays.items() if result.npz else ())
            },
        )
        for key, result in by_key(found).items()
    }


def ways(run: Run) -> dict[str, Any]:
    """How trials went, by agent."""
    report = json.loads((run.path / "report.json").read_text())
    return {name: tasks["toy"] for name, tasks in report["environment"]["placement"].get("rounds", {}).items()}
