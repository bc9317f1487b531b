from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from proctor.config import TaskCfg, config_from_dict
from proctor.registry import import_file
from proctor.suites import make_env

FOLDER = Path(__file__).parent


@pytest.fixture(scope="session")
def toys():
    """The module with the toy environments."""
    return import_file(FOLDER / "toy_envs.py")


@pytest.fixture
def task():
    """A task of the gymnasium suite, through the config."""

    def make(**options: Any) -> TaskCfg:
        options.setdefault("id", "toy_envs.py:Toy/Counter-v0")
        entry = {"suite": "gymnasium", "options": options}
        return config_from_dict({"agents": [{"policy": "random"}], "tasks": [entry]}, FOLDER).tasks[0]

    return make


@pytest.fixture
def env(task):
    """An environment of the gymnasium suite, closed at the end."""
    made = []

    def make(*, render: bool = False, worlds: int = 3, **options: Any) -> Any:
        told = task(**options)
        made.append(make_env(told.suite, told.options, render=render, worlds=worlds))
        return made[-1]

    yield make
    for each in made:
        each.close()
