"""Rooms with success visuals, collected once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from goal_rooms import CORNERS, HERE, INSTRUCTIONS, MODEL, room_task


def goals_config(folder: Path, **goals: Any) -> Path:
    """A config of the rooms with these keys in its section `goals`."""
    examination = goals.pop("examination", {})
    config = {
        "name": "rooms", "agents": [{"name": "guide", "policy": f"{HERE}:Guide"}],
        "tasks": [room_task(corner) for corner in CORNERS], "n_trials": 4, "workers": "inline", "scoring": "success",
        "output_root": str(folder / "runs"), **examination,
        "goals": {"model": MODEL, "visuals_folder": str(folder / "visuals"), "instructions": INSTRUCTIONS, **goals},
    }  # fmt: skip
    path = folder / "goals.yml"
    path.write_text(yaml.safe_dump(config))
    return path


@pytest.fixture(scope="session")
def collected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of success visuals of the four corners."""
    from proctor.goals.collect import collect
    from proctor.goals.config import load_goals

    folder = tmp_path_factory.mktemp("rooms")
    cfg, goals = load_goals(goals_config(folder))
    collect(cfg, goals)
    return folder / "visuals"
