"""Short ways to write an examination of toys, and to read what came of it."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from proctor import Run
from proctor_host.result import TrialResult

TOYS = Path(__file__).with_name("toys.py")
ODDITIES = Path(__file__).with_name("oddities.py")


def policy(name: str, **options: Any) -> dict[str, Any]:
    """An agent with a policy of `toys.py`."""
    return {"name": name.lower(), "policy": f"{TOYS}:{name}", "options": options}


def task(name: str = "Toy", **rest: Any) -> dict[str, Any]:
    """A task with an environment of `toys.py`; `kwargs` go to the environment."""
    kwargs = rest.pop("kwargs", {})
    return {
        "suite": "gymnasium",
        "name": name.lower(),
        "options": {"id": f"{TOYS}:{name}-v0", "kwargs": kwargs},
        **rest,
    }


def odd(name: str, file: Path = ODDITIES, **rest: Any) -> dict[str, Any]:
    """An agent with a policy of `oddities.py`, or of a copy of it."""
    return {"name": name.lower(), "policy": f"{file}:{name}", **rest}


def odd_task(name: str = "Walk", file: Path = ODDITIES, **options: Any) -> dict[str, Any]:
    """A task with an environment of `oddities.py`."""
    return {"suite": "gymnasium", "name": name.lower(), "options": {"id": f"{file}:{name}-v0", **options}}


def examination(output_root: Path, **keys: Any) -> dict[str, Any]:
    """A config of these keys over small defaults."""
    return {
        "agents": [policy("Linear")], "tasks": [task()], "n_trials": 5, "num_parallel": 4, "workers": "inline",
        "scoring": "success", "report": {"pictures": False}, "output_root": str(output_root), **keys,
    }  # fmt: skip


def by_key(run: Run) -> dict[str, TrialResult]:
    return {result.trial.key: result for result in run.results()}


def digests(run: Run) -> dict[str, str | None]:
    return {key: result.digest for key, result in by_key(run).items()}


def timeless(run: Run) -> list[dict[str, str]]:
    """The rows of summary.csv without what differs from day to day."""
    with (run.path / "summary.csv").open() as file:
        rows = list(csv.DictReader(file, delimiter=";"))
    return [{name: cell for name, cell in row.items() if name != "wall_time_s"} for row in rows]
