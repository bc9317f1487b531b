"""Rooms with success visuals, collected once."""

from __future__ import annotations

from pathlib import Path

import pytest
from goal_rooms import goals_config


@pytest.fixture(scope="session")
def collected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of success visuals of the four corners."""
    from proctor.suites.goals.collect import collect
    from proctor.suites.goals.config import load_goals

    folder = tmp_path_factory.mktemp("rooms")
    cfg, goals = load_goals(goals_config(folder))
    collect(cfg, goals)
    return folder / "visuals"
